// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fsramtry: known allocations, to test fsram with.
 *
 * Loading makes "count" allocations of each kind: from a slab cache, and by
 * kmalloc(), kmemdup(), kvmalloc() and vmalloc(). It makes one more by
 * kvmalloc() that is too large for kmalloc(), and then frees "free" of each
 * kind, the last ones first. Unloading frees the rest, except the first "leak"
 * of kmalloc().
 *
 * With "timed" loading then makes so many more by kmalloc(), by turns in two
 * functions, and frees those of the second, all with a pause of "pause_us"
 * before. The kernel's log has a line "at BEGIN END KEPT GIVEN" for each: two
 * readings of the clock (ns), just before and after, and how many each function
 * then holds.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/ktime.h>
#include <linux/vmalloc.h>

#define MAX_COUNT 1000

static uint count = 101;
module_param(count, uint, 0444);
MODULE_PARM_DESC(count, "Allocations of each kind, at most 1000 (101)");

static uint free_first;
module_param_named(free, free_first, uint, 0444);
MODULE_PARM_DESC(free, "Allocations of each kind that loading frees again (0)");

static uint leak;
module_param(leak, uint, 0444);
MODULE_PARM_DESC(leak, "Allocations by kmalloc() that are never freed (0)");

static uint timed;
module_param(timed, uint, 0444);
MODULE_PARM_DESC(timed, "Allocations with a pause before each, at most 1000 "
			"(0)");

static uint pause_us = 1000;
module_param(pause_us, uint, 0444);
MODULE_PARM_DESC(pause_us, "The pause, us (1000)");

static struct kmem_cache *cache;
static void *objects[MAX_COUNT], *blocks[MAX_COUNT], *copies[MAX_COUNT];
static void *small[MAX_COUNT], *pages[MAX_COUNT], *large;
static void *later[MAX_COUNT];
static u64 begins_ns[2 * MAX_COUNT], ends_ns[2 * MAX_COUNT];
static unsigned int changes;

/* Storing it keeps each allocation from being its function's last call, which
 * would make the caller the one who allocates. */
static noinline void fsramtry_keep(unsigned int i)
{
	later[i] = kmalloc(1000, GFP_KERNEL);
}

static noinline void fsramtry_give(unsigned int i)
{
	later[i] = kmalloc(2000, GFP_KERNEL);
}

static void one_later(unsigned int i)
{
	if (i % 2)
		fsramtry_give(i);
	else
		fsramtry_keep(i);
}

static void one_back(unsigned int i)
{
	kfree(later[i]);
	later[i] = NULL;
}

static void at_once(void (*change)(unsigned int i), unsigned int i)
{
	usleep_range(pause_us, pause_us);
	begins_ns[changes] = ktime_get_ns();
	change(i);
	ends_ns[changes++] = ktime_get_ns();
}

/* The log is written last: that takes time. */
static void all_timed(void)
{
	unsigned int i, kept = 0, given = 0;

	for (i = 0; i < timed; i++)
		at_once(one_later, i);
	for (i = 1; i < timed; i += 2)
		at_once(one_back, i);
	for (i = 0; i < changes; i++) {
		if (i >= timed)
			given--;
		else if (i % 2)
			given++;
		else
			kept++;
		pr_info("at %llu %llu %u %u\n", begins_ns[i], ends_ns[i], kept,
			given);
	}
}

static void free_one(unsigned int i)
{
	kmem_cache_free(cache, objects[i]);
	if (i >= leak)
		kfree(blocks[i]);
	kfree(copies[i]);
	kvfree(small[i]);
	vfree(pages[i]);
}

static int __init fsramtry_init(void)
{
	unsigned int i;

	if (count > MAX_COUNT || free_first > count || timed > MAX_COUNT)
		return -EINVAL;
	/* SLAB_ACCOUNT keeps it from being merged with another cache of its
	 * size. */
	cache = kmem_cache_create("fsramtry", 136, 8, SLAB_ACCOUNT, NULL);
	if (!cache)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		objects[i] = kmem_cache_alloc(cache, GFP_KERNEL);
		blocks[i] = kmalloc(200, GFP_KERNEL);
		copies[i] = kmemdup("sixteen bytes...", 16, GFP_KERNEL);
		small[i] = kvmalloc(500, GFP_KERNEL);
		pages[i] = vmalloc(5000);
	}
	large = kvmalloc(5 << 20, GFP_KERNEL);
	for (i = 0; i < free_first; i++)
		free_one(count - 1 - i);
	all_timed();
	return 0;
}

static void __exit fsramtry_exit(void)
{
	unsigned int i;

	for (i = 0; i < count - free_first; i++)
		free_one(i);
	kvfree(large);
	for (i = 0; i < timed; i++)
		kfree(later[i]);
	kmem_cache_destroy(cache);
}

module_init(fsramtry_init);
module_exit(fsramtry_exit);
MODULE_DESCRIPTION("Known allocations");
MODULE_LICENSE("GPL");
