// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fsram: the RAM that a file system's modules hold, now and at its peak.
 *
 * Measures: bytes of live allocations that were made by code of the modules
 * named by the parameter "modules": from slab caches, by kmalloc() and by
 * vmalloc(), each as the allocator rounds it up. When they are freed, by any
 * code, they are subtracted.
 * How: the kernel's kmem tracepoints tell the caller; vmalloc() has none
 * (vmalloc.c).
 * Needs: to be loaded before those modules, and one CPU. Whole pages from the
 * page allocator (the page cache) are not counted, nor the unused part of a
 * slab. Costs: some hundred instructions for each allocation and release in
 * the whole kernel, and 16 bytes for each slot of the table. Times measured
 * while it is loaded are longer.
 *
 * With interval_ms= it also keeps the bytes held at the end of each interval,
 * in memory that is reserved when it is loaded (series.h), those that the
 * kernel can take back under pressure apart: what the functions named by
 * "reclaimable" allocated. That costs a look at the clock for each allocation
 * and release that is counted. debugfs has it all: show.c.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kallsyms.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/stacktrace.h>
#include <linux/version.h>
#include <linux/vmalloc.h>
#include <trace/events/kmem.h>

#include "events.h"
#include "show.h"
#include "table.h"

#define OWNERS_MAX	16
#define SITES		64
#define KVMALLOC_DEEP	8

#define INTERVAL_MS_MAX 3600000
#define SAMPLES_MAX	131072

static char *modules[OWNERS_MAX];
static int modules_count;
module_param_array(modules, charp, &modules_count, 0444);
MODULE_PARM_DESC(modules, "Names of the modules to watch, loaded after this");

static unsigned int slots_log2 = 17;
module_param(slots_log2, uint, 0444);
MODULE_PARM_DESC(slots_log2, "Room for 2^N live allocations, 8 to 24 (17)");

static char *reclaimable[RECLAIMABLE_MAX];
static int reclaimable_count;
module_param_array(reclaimable, charp, &reclaimable_count, 0444);
MODULE_PARM_DESC(reclaimable, "Functions whose allocations the kernel can take "
			      "back, as fsram/functions names them (none)");

static unsigned int interval_ms;
module_param(interval_ms, uint, 0444);
MODULE_PARM_DESC(interval_ms, "ms from sample to sample of the series, at most "
			      "3600000; 0: no series (0)");

static unsigned int samples = 16384;
module_param(samples, uint, 0444);
MODULE_PARM_DESC(samples, "Samples that the series keeps, 24 bytes each, 2 to "
			  "131072 (16384)");

static struct module *owners[OWNERS_MAX];

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

void allocated(unsigned long site, const void *address, size_t bytes,
	       enum ram_kind kind)
{
	if (!address)
		return;
	if (kind == RAM_KMALLOC && is_kvmalloc(site))
		site = behind_kvmalloc(site);
	if (is_owner(site))
		ram_add(address, bytes, kind, site);
	else
		ram_remove(address); /* its release was not seen */
}

void freed(const void *address)
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

static int __init fsram_init(void)
{
	int err;

	if (!modules_count || slots_log2 < 8 || slots_log2 > 24) {
		pr_err("not loaded: give modules=, and slots_log2 from 8 to "
		       "24\n");
		return -EINVAL;
	}
	if (interval_ms > INTERVAL_MS_MAX || samples < 2 ||
	    samples > SAMPLES_MAX) {
		pr_err("not loaded: give interval_ms up to %u, and samples "
		       "from 2 to %u\n",
		       INTERVAL_MS_MAX, SAMPLES_MAX);
		return -EINVAL;
	}
	if (num_online_cpus() > 1) {
		pr_err("not loaded: needs a board of one CPU, here are %u\n",
		       num_online_cpus());
		return -EINVAL;
	}
	functions_init(reclaimable, reclaimable_count);
	err = ram_init(slots_log2);
	if (err)
		return err;
	err = series_init(interval_ms, samples);
	if (err)
		goto no_series;
	err = register_module_notifier(&module_notifier);
	if (err)
		goto no_notifier;
	err = attach_events();
	if (err)
		goto no_events;
	err = attach_vmalloc();
	if (err)
		goto no_vmalloc;
	show_init(interval_ms);
	return 0;

no_vmalloc:
	detach_events();
no_events:
	unregister_module_notifier(&module_notifier);
no_notifier:
	series_exit();
	ram_exit();
	pr_err("not loaded: a trace event or function is missing (%d)\n", err);
	return err;

no_series:
	ram_exit();
	pr_err("not loaded: no memory for %u samples\n", samples);
	return err;
}

static void __exit fsram_exit(void)
{
	show_exit();
	detach_vmalloc();
	detach_events();
	unregister_module_notifier(&module_notifier);
	series_exit();
	ram_exit();
}

module_init(fsram_init);
module_exit(fsram_exit);
MODULE_DESCRIPTION("RAM that a file system's modules hold");
MODULE_LICENSE("GPL");
