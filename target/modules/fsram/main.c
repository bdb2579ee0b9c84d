// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fsram: the RAM that a file system's modules hold, now and at its peak.
 *
 * Measures: bytes of live allocations that were made by code of the modules
 * named by the parameter "modules": from slab caches, by kmalloc() and by
 * vmalloc(), each as the allocator rounds it up. When they are freed, by any
 * code, they are subtracted.
 * How: the kernel's kmem tracepoints tell the caller; vmalloc() has none, so
 * probes sit on the function that all its forms end in, and on vfree().
 * Needs: to be loaded before those modules, and one CPU. Whole pages from the
 * page allocator (the page cache) are not counted, nor the unused part of a
 * slab. Costs: some hundred instructions for each allocation and release in
 * the whole kernel, and 16 bytes for each slot of the table. Times measured
 * while it is loaded are longer.
 *
 * debugfs fsram/usage has a line "key value" for each sum; a write to it resets
 * the peak to what is held now.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/debugfs.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/stacktrace.h>
#include <linux/version.h>
#include <linux/vmalloc.h>
#include <trace/events/kmem.h>

#include "table.h"

#define OWNERS_MAX    16
#define SITES	      64
#define KVMALLOC_DEEP 8

static char *modules[OWNERS_MAX];
static int modules_count;
module_param_array(modules, charp, &modules_count, 0444);
MODULE_PARM_DESC(modules, "Names of the modules to watch, loaded after this");

static unsigned int slots_log2 = 17;
module_param(slots_log2, uint, 0444);
MODULE_PARM_DESC(slots_log2, "Room for 2^N live allocations, 8 to 24 (17)");

static struct module *owners[OWNERS_MAX];
static struct dentry *folder;

static bool is_owner(unsigned long code)
{
	int i;

	for (i = 0; i < modules_count; i++)
		if (owners[i] && within_module(code, owners[i]))
			return true;
	return false;
}

/* kvmalloc() calls kmalloc() itself, so it is the call site. Found sites are
 * cached. */
static bool is_kvmalloc(unsigned long site)
{
	static struct {
		unsigned long site;
		bool found;
	} known[SITES];
	unsigned int at = site / 4 % SITES;
	char name[KSYM_SYMBOL_LEN];

	if (known[at].site != site) {
		sprint_symbol_no_offset(name, site);
		known[at].found = strstr(name, "kvmalloc_node") != NULL;
		known[at].site = site;
	}
	return known[at].found;
}

/* The code that called kvmalloc(): the next frame after it. */
static unsigned long behind_kvmalloc(unsigned long site)
{
	unsigned long frames[KVMALLOC_DEEP + 8];
	unsigned int i, n = stack_trace_save(frames, ARRAY_SIZE(frames), 0);

	for (i = 0; i + 1 < n; i++)
		if (frames[i] == site)
			return frames[i + 1];
	return 0;
}

static void allocated(unsigned long site, const void *address, size_t bytes,
		      enum ram_kind kind)
{
	if (!address)
		return;
	if (kind == RAM_KMALLOC && is_kvmalloc(site))
		site = behind_kvmalloc(site);
	if (is_owner(site))
		ram_add(address, bytes, kind);
	else
		ram_remove(address); /* its release was not seen */
}

static void freed(const void *address)
{
	if (address)
		ram_remove(address);
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 1, 0)

static void on_kmalloc(void *data, unsigned long site, const void *address,
		       size_t asked, size_t bytes, gfp_t flags, int node)
{
	allocated(site, address, bytes, RAM_KMALLOC);
}

static void on_cache_alloc(void *data, unsigned long site, const void *address,
			   struct kmem_cache *cache, gfp_t flags, int node)
{
	allocated(site, address, address ? ksize(address) : 0, RAM_SLAB);
}

static void on_cache_free(void *data, unsigned long site, const void *address,
			  const struct kmem_cache *cache)
{
	freed(address);
}

static int attach_node_events(void)
{
	return 0; /* the same events cover both */
}

static void detach_node_events(void)
{
}

#else

static void on_kmalloc(void *data, unsigned long site, const void *address,
		       size_t asked, size_t bytes, gfp_t flags)
{
	allocated(site, address, bytes, RAM_KMALLOC);
}

static void on_kmalloc_node(void *data, unsigned long site, const void *address,
			    size_t asked, size_t bytes, gfp_t flags, int node)
{
	allocated(site, address, bytes, RAM_KMALLOC);
}

static void on_cache_alloc(void *data, unsigned long site, const void *address,
			   size_t asked, size_t bytes, gfp_t flags)
{
	allocated(site, address, bytes, RAM_SLAB);
}

static void on_cache_alloc_node(void *data, unsigned long site,
				const void *address, size_t asked, size_t bytes,
				gfp_t flags, int node)
{
	allocated(site, address, bytes, RAM_SLAB);
}

static void on_cache_free(void *data, unsigned long site, const void *address)
{
	freed(address);
}

static int attach_node_events(void)
{
	int err = register_trace_kmalloc_node(on_kmalloc_node, NULL);

	if (err)
		return err;
	err = register_trace_kmem_cache_alloc_node(on_cache_alloc_node, NULL);
	if (err)
		unregister_trace_kmalloc_node(on_kmalloc_node, NULL);
	return err;
}

static void detach_node_events(void)
{
	unregister_trace_kmem_cache_alloc_node(on_cache_alloc_node, NULL);
	unregister_trace_kmalloc_node(on_kmalloc_node, NULL);
}

#endif

static void on_kfree(void *data, unsigned long site, const void *address)
{
	freed(address);
}

struct vmalloc_call {
	unsigned long caller;
	unsigned long bytes;
};

/* __vmalloc_area_node(area, ...) */
static int on_vmalloc_area(struct kretprobe_instance *instance,
			   struct pt_regs *regs)
{
	struct vmalloc_call *call = (void *)instance->data;
	struct vm_struct *area = (void *)regs_get_kernel_argument(regs, 0);

	call->bytes = get_vm_area_size(area);
	call->caller = (unsigned long)area->caller;
	return 0;
}

/* __vmalloc_node_range(size, align, start, end, gfp, prot, vm_flags, node,
 * caller) */
static int on_vmalloc_range(struct kretprobe_instance *instance,
			    struct pt_regs *regs)
{
	struct vmalloc_call *call = (void *)instance->data;

	call->bytes = PAGE_ALIGN(regs_get_kernel_argument(regs, 0));
	/* Past six, arguments are on the stack above the return address. */
	call->caller = regs_get_kernel_stack_nth(regs, 3);
	return 0;
}

static int on_vmalloc_done(struct kretprobe_instance *instance,
			   struct pt_regs *regs)
{
	struct vmalloc_call *call = (void *)instance->data;

	allocated(call->caller, (void *)regs_return_value(regs), call->bytes,
		  RAM_VMALLOC);
	return 0;
}

static int on_vfree(struct kprobe *probe, struct pt_regs *regs)
{
	freed((void *)regs_get_kernel_argument(regs, 0));
	return 0;
}

static struct kretprobe vmalloc_probe = {
	.handler = on_vmalloc_done,
	.data_size = sizeof(struct vmalloc_call),
	.maxactive = 16,
};

static struct kprobe vfree_probe = {
	.symbol_name = "vfree",
	.pre_handler = on_vfree,
};

/* The function that all forms of vmalloc() end in. The compiler inlines one of
 * the two; in Linux 5.10 the inner one is left. */
static const struct {
	const char *name;
	kretprobe_handler_t on_entry;
} vmalloc_places[] = {
	{"__vmalloc_area_node", on_vmalloc_area},
	{"__vmalloc_area_node_noprof", on_vmalloc_area},
	{"__vmalloc_node_range", on_vmalloc_range},
	{"__vmalloc_node_range_noprof", on_vmalloc_range},
};

static int attach_vmalloc(void)
{
	int i, err = -ENOENT;

	for (i = 0; err && i < ARRAY_SIZE(vmalloc_places); i++) {
		vmalloc_probe.kp.symbol_name = vmalloc_places[i].name;
		vmalloc_probe.kp.addr = NULL;
		vmalloc_probe.entry_handler = vmalloc_places[i].on_entry;
		err = register_kretprobe(&vmalloc_probe);
	}
	if (err)
		return err;
	err = register_kprobe(&vfree_probe);
	if (err)
		unregister_kretprobe(&vmalloc_probe);
	return err;
}

static void detach_vmalloc(void)
{
	unregister_kprobe(&vfree_probe);
	unregister_kretprobe(&vmalloc_probe);
}

/* Release events first, so that no allocation is counted whose release is
 * missed. */
static int attach_events(void)
{
	int err = register_trace_kfree(on_kfree, NULL);

	if (err)
		return err;
	err = register_trace_kmem_cache_free(on_cache_free, NULL);
	if (err)
		goto no_cache_free;
	err = register_trace_kmalloc(on_kmalloc, NULL);
	if (err)
		goto no_kmalloc;
	err = register_trace_kmem_cache_alloc(on_cache_alloc, NULL);
	if (err)
		goto no_cache_alloc;
	err = attach_node_events();
	if (!err)
		return 0;
	unregister_trace_kmem_cache_alloc(on_cache_alloc, NULL);
no_cache_alloc:
	unregister_trace_kmalloc(on_kmalloc, NULL);
no_kmalloc:
	unregister_trace_kmem_cache_free(on_cache_free, NULL);
no_cache_free:
	unregister_trace_kfree(on_kfree, NULL);
	return err;
}

static void detach_events(void)
{
	detach_node_events();
	unregister_trace_kmem_cache_alloc(on_cache_alloc, NULL);
	unregister_trace_kmalloc(on_kmalloc, NULL);
	unregister_trace_kmem_cache_free(on_cache_free, NULL);
	unregister_trace_kfree(on_kfree, NULL);
	tracepoint_synchronize_unregister();
}

static int on_module(struct notifier_block *block, unsigned long state,
		     void *data)
{
	struct module *module = data;
	int i;

	for (i = 0; i < modules_count; i++) {
		if (state == MODULE_STATE_COMING &&
		    !strcmp(modules[i], module->name))
			owners[i] = module;
		else if (state == MODULE_STATE_GOING && owners[i] == module)
			owners[i] = NULL;
	}
	return NOTIFY_OK;
}

/* Highest priority: we learn of a module first, and so before it allocates. */
static struct notifier_block module_notifier = {
	.notifier_call = on_module,
	.priority = INT_MAX,
};

static int usage_show(struct seq_file *out, void *unused)
{
	struct ram_sums now;

	/* Objects freed by RCU, as inodes are, are no longer held: wait for
	 * their release. */
	rcu_barrier();
	now = ram_sums();
	seq_printf(out, "bytes %llu\n", now.total_bytes);
	seq_printf(out, "peak_bytes %llu\n", now.peak_bytes);
	seq_printf(out, "slab_bytes %llu\n", now.bytes[RAM_SLAB]);
	seq_printf(out, "kmalloc_bytes %llu\n", now.bytes[RAM_KMALLOC]);
	seq_printf(out, "vmalloc_bytes %llu\n", now.bytes[RAM_VMALLOC]);
	seq_printf(out, "objects %llu\n", now.objects);
	seq_printf(out, "allocations %llu\n", now.allocations);
	seq_printf(out, "frees %llu\n", now.frees);
	seq_printf(out, "lost %llu\n", now.lost);
	return 0;
}

static ssize_t usage_write(struct file *file, const char __user *from,
			   size_t bytes, loff_t *at)
{
	ram_reset_peak();
	return bytes;
}

static int usage_open(struct inode *inode, struct file *file)
{
	return single_open(file, usage_show, NULL);
}

static const struct file_operations usage_ops = {
	.owner = THIS_MODULE,
	.open = usage_open,
	.read = seq_read,
	.write = usage_write,
	.llseek = seq_lseek,
	.release = single_release,
};

static int __init fsram_init(void)
{
	int err;

	if (!modules_count || slots_log2 < 8 || slots_log2 > 24) {
		pr_err("not loaded: give modules=, and slots_log2 from 8 to "
		       "24\n");
		return -EINVAL;
	}
	if (num_online_cpus() > 1) {
		pr_err("not loaded: needs a board of one CPU, here are %u\n",
		       num_online_cpus());
		return -EINVAL;
	}
	err = ram_init(slots_log2);
	if (err)
		return err;
	err = register_module_notifier(&module_notifier);
	if (err)
		goto no_notifier;
	err = attach_events();
	if (err)
		goto no_events;
	err = attach_vmalloc();
	if (err)
		goto no_vmalloc;
	folder = debugfs_create_dir("fsram", NULL);
	debugfs_create_file("usage", 0600, folder, NULL, &usage_ops);
	return 0;

no_vmalloc:
	detach_events();
no_events:
	unregister_module_notifier(&module_notifier);
no_notifier:
	ram_exit();
	pr_err("not loaded: a trace event or function is missing (%d)\n", err);
	return err;
}

static void __exit fsram_exit(void)
{
	debugfs_remove(folder);
	detach_vmalloc();
	detach_events();
	unregister_module_notifier(&module_notifier);
	ram_exit();
}

module_init(fsram_init);
module_exit(fsram_exit);
MODULE_DESCRIPTION("RAM that a file system's modules hold");
MODULE_LICENSE("GPL");
