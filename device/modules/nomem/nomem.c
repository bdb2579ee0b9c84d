// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * nomem: lets one allocation of memory fail, once, by its number.
 *
 * Debian's kernels are built without CONFIG_FAILSLAB. In Linux 5.10 and 6.1
 * every allocation from a slab calls should_failslab() all the same, which does
 * nothing there: a kprobe on it lets one of the calls return -ENOMEM. Debian's
 * 6.12 has no such function, so it is refused.
 *
 *   insmod nomem.ko
 *   exec 3> /sys/kernel/debug/nomem/fail
 *   echo "7 any" >&3      the 7th allocation of who writes this fails
 *   echo "0 any" >&3      none is to fail any more
 *   cat /sys/kernel/debug/nomem/fail
 *
 * Counted are the allocations of the process that wrote, in its system calls
 * and page faults: none of interrupts, of the kernel's threads or of other
 * processes, so that a number means the same one each time. "any" are all but
 * those that must not fail (__GFP_NOFAIL), as mm/failslab.c has it with
 * ignore-gfp-wait=0. "now" are those of them that may not wait for memory, or
 * not for long (no __GFP_DIRECT_RECLAIM; __GFP_NORETRY, __GFP_RETRY_MAYFAIL).
 *
 * What is physical: the page allocator gives no error for a small allocation
 * that may wait, unless the process is being killed for lack of memory. So
 * "any" mostly tries code that hardly ever runs, and "now" what does. Pages,
 * vmalloc() and what is larger than any slab are not allocated from one, and
 * never fail here.
 *
 * It costs a probe for each allocation, and allocates nothing itself.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/debugfs.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/stacktrace.h>
#include <linux/uaccess.h>

#define FUNCTION   "should_failslab"
#define CALLS_MAX  32 /* of a stack */
#define CALLERS	   4  /* of them that are told */
#define NAME_BYTES 64
#define WORDS	   24

/* Whose allocations are counted; NULL: nobody's. */
static struct task_struct *counted;
static bool only_now;
static u32 wanted; /* the number of that which fails; 0: none */
static u32 seen;

/* Of that which failed. */
static bool failed;
static gfp_t failed_flags;
static unsigned long calls[CALLS_MAX];
static unsigned int call_count;

static struct dentry *dir;

#ifdef CONFIG_X86
/* What a function that is not to run returns to: its caller. */
void nomem_return(void);
asm(".pushsection .text\n"
    ".type nomem_return, @function\n"
    "nomem_return:\n" ASM_RET "\n"
    ".size nomem_return, .-nomem_return\n"
    ".popsection\n");

static gfp_t flags_of(struct pt_regs *regs)
{
	return (__force gfp_t)regs_get_kernel_argument(regs, 1);
}

/* Ftrace, which calls the probe, goes on where the registers say, on the stack
 * that it had. */
static void return_error(struct pt_regs *regs)
{
	regs->ax = (unsigned long)-ENOMEM;
	regs->ip = (unsigned long)nomem_return;
}
#else
static gfp_t flags_of(struct pt_regs *regs)
{
	return (__force gfp_t)regs->ARM_r1;
}

static void return_error(struct pt_regs *regs)
{
	regs->ARM_r0 = (unsigned long)-ENOMEM;
	regs->ARM_pc = regs->ARM_lr;
}
#endif

/* It waits until there is memory, and so hardly ever fails. */
static bool waits(gfp_t flags)
{
	return (flags & __GFP_DIRECT_RECLAIM) &&
	       !(flags & (__GFP_NORETRY | __GFP_RETRY_MAYFAIL));
}

static bool in_interrupt_of_it(void)
{
	return preempt_count() & (NMI_MASK | HARDIRQ_MASK | SOFTIRQ_OFFSET);
}

static int allocated(struct kprobe *probe, struct pt_regs *regs)
{
	gfp_t flags;

	if (current != counted || in_interrupt_of_it())
		return 0;
	flags = flags_of(regs);
	if (flags & __GFP_NOFAIL || (only_now && waits(flags)))
		return 0;
	if (++seen != wanted)
		return 0;
	failed = true;
	failed_flags = flags;
	call_count = stack_trace_save(calls, CALLS_MAX, 0);
	return_error(regs);
	return 1;
}
NOKPROBE_SYMBOL(allocated);

/* That there is one tells kprobes that the other changes where the processor
 * goes on. */
static void changed(struct kprobe *probe, struct pt_regs *regs,
		    unsigned long flags)
{
}

static struct kprobe probe = {
	.symbol_name = FUNCTION,
	.pre_handler = allocated,
	.post_handler = changed,
};

static void forget_process(void)
{
	if (counted)
		put_task_struct(counted);
	counted = NULL;
}

static ssize_t fail_write(struct file *file, const char __user *from,
			  size_t count, loff_t *at)
{
	char words[WORDS], what[4] = "";
	u32 number;

	if (count >= sizeof(words))
		return -EINVAL;
	if (copy_from_user(words, from, count))
		return -EFAULT;
	words[count] = '\0';
	if (sscanf(words, "%u %3s", &number, what) != 2 ||
	    (strcmp(what, "any") && strcmp(what, "now")))
		return -EINVAL;
	forget_process();
	wanted = number;
	if (!number)
		return count;
	only_now = !strcmp(what, "now");
	seen = 0;
	failed = false;
	get_task_struct(current);
	WRITE_ONCE(counted, current);
	return count;
}

/* A function of the stack, without its place in it. */
static void name_call(unsigned long call, char *name)
{
	snprintf(name, NAME_BYTES, "%pB", (void *)call);
	name[strcspn(name, "+ ")] = '\0';
}

static bool is_allocator(const char *name)
{
	static const char *const begins[] = {
		"should_failslab",
		"kmem_cache_alloc",
		"__kmem_cache_alloc",
		"__kmalloc",
		"kmalloc",
		"kmemdup",
		"krealloc",
		"__do_krealloc",
		"kvmalloc",
		"kstrdup",
		"__kvmalloc",
		"kasprintf",
		"kvasprintf",
		"slab_pre_alloc_hook",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(begins); i++)
		if (!strncmp(name, begins[i], strlen(begins[i])))
			return true;
	return false;
}

/* Who asked for it, from behind the allocator's own calls. */
static void show_callers(struct seq_file *file)
{
	unsigned int i, told = 0;
	bool within = false;
	char name[NAME_BYTES];

	seq_puts(file, "callers");
	for (i = 0; i < call_count && told < CALLERS; i++) {
		bool mine;

		name_call(calls[i], name);
		mine = is_allocator(name);
		if (within && !mine)
			seq_printf(file, "%s %s", told++ ? " <" : "", name);
		within = within || mine;
	}
	seq_putc(file, '\n');
}

static int fail_show(struct seq_file *file, void *unused)
{
	seq_printf(file, "seen %u\nfailed %u\n", seen, failed);
	if (!failed)
		return 0;
	seq_printf(file, "waits %u\n", waits(failed_flags));
	show_callers(file);
	return 0;
}

static int fail_open(struct inode *inode, struct file *file)
{
	return single_open(file, fail_show, NULL);
}

static const struct file_operations fail_fops = {
	.owner = THIS_MODULE,
	.open = fail_open,
	.read = seq_read,
	.write = fail_write,
	.llseek = seq_lseek,
	.release = single_release,
};

static int watch(void)
{
	int err = register_kprobe(&probe);

	if (err) {
		pr_err("this kernel has no function " FUNCTION
		       " by which an allocation is told to fail (%d): take an "
		       "older one, such as that of the board apf27, or one "
		       "built with CONFIG_FAILSLAB=y\n",
		       err);
		return -ENODEV;
	}
	/* else the probe is an exception, whose handler is told from no other
	 */
	if (IS_ENABLED(CONFIG_X86) && !kprobe_ftrace(&probe)) {
		unregister_kprobe(&probe);
		pr_err("this kernel has no ftrace at " FUNCTION
		       ": take one built with CONFIG_DYNAMIC_FTRACE=y\n");
		return -ENODEV;
	}
	return 0;
}

static int __init nomem_init(void)
{
	int err = watch();

	if (err)
		return err;
	dir = debugfs_create_dir("nomem", NULL);
	debugfs_create_file("fail", 0600, dir, NULL, &fail_fops);
	return 0;
}

static void __exit nomem_exit(void)
{
	debugfs_remove_recursive(dir);
	unregister_kprobe(&probe);
	forget_process();
}

module_init(nomem_init);
module_exit(nomem_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Lets an allocation of memory fail, by its number");
