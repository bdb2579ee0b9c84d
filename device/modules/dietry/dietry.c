// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * dietry: tasks that die inside a function, for tracers to be pointed at.
 *
 * Writing N to the parameter "die" starts N threads, one after the other. Each
 * ends in dietry_inside() and never returns from it. Their task structs are
 * kept until unloading, so that no two have the same address. Writing N to
 * "call" calls dietry_returns() N times.
 */
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/sched/task.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 17, 0)
#define kthread_complete_and_exit complete_and_exit
#endif
#define MAX_COUNT 2000
#define AT_A_TIME 32

static struct task_struct *dead[MAX_COUNT];
static unsigned int dead_count;
static DECLARE_COMPLETION(died);

noinline void dietry_inside(void);
noinline int dietry_returns(int i);

noinline void dietry_inside(void)
{
	kthread_complete_and_exit(&died, 0);
}

noinline int dietry_returns(int i)
{
	barrier();
	return i + 1;
}

static int die_now(void *unused)
{
	dietry_inside();
	return 0;
}

static int start_one(unsigned int i)
{
	struct task_struct *thread =
		kthread_create(die_now, NULL, "dietry/%u", i);

	if (IS_ERR(thread))
		return PTR_ERR(thread);
	dead[i] = get_task_struct(thread);
	wake_up_process(thread);
	wait_for_completion(&died);
	return 0;
}

static int set_die(const char *value, const struct kernel_param *param)
{
	unsigned int count;
	int err = kstrtouint(value, 0, &count);

	if (!err && count > MAX_COUNT - dead_count)
		err = -EINVAL;
	for (; !err && count; count--) {
		err = start_one(dead_count++);
		/* The kernel takes back what follows a dead task's call, of
		 * which a tracer has 64, once all have seen that it is dead. */
		if (!(dead_count % AT_A_TIME))
			rcu_barrier();
	}
	return err;
}

static int set_call(const char *value, const struct kernel_param *param)
{
	unsigned int count, i;
	int err = kstrtouint(value, 0, &count);

	for (i = 0; !err && i < count; i++)
		dietry_returns(i);
	return err;
}

static const struct kernel_param_ops die_ops = {.set = set_die};
static const struct kernel_param_ops call_ops = {.set = set_call};
module_param_cb(die, &die_ops, NULL, 0200);
MODULE_PARM_DESC(die, "Starts this many tasks that die, at most 2000 in all");
module_param_cb(call, &call_ops, NULL, 0200);
MODULE_PARM_DESC(call, "Makes this many calls that return");

static int __init dietry_init(void)
{
	return 0;
}

static void __exit dietry_exit(void)
{
	unsigned int i;

	for (i = 0; i < dead_count; i++)
		if (dead[i])
			put_task_struct(dead[i]);
}

module_init(dietry_init);
module_exit(dietry_exit);
MODULE_DESCRIPTION("Tasks that die inside a function");
MODULE_LICENSE("GPL");
