// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fsramtry: known allocations, to test fsram with.
 *
 * Loading makes "count" allocations of each kind: from a slab cache, and by
 * kmalloc(), kmemdup(), kvmalloc() and vmalloc(). It makes one more by
 * kvmalloc() that is too large for kmalloc(), and then frees "free" of each
 * kind, the last ones first. Unloading frees the rest, except the first "leak"
 * of kmalloc().
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
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

static struct kmem_cache *cache;
static void *objects[MAX_COUNT], *blocks[MAX_COUNT], *copies[MAX_COUNT];
static void *small[MAX_COUNT], *pages[MAX_COUNT], *large;

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

	if (count > MAX_COUNT || free_first > count)
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
	return 0;
}

static void __exit fsramtry_exit(void)
{
	unsigned int i;

	for (i = 0; i < count - free_first; i++)
		free_one(i);
	kvfree(large);
	kmem_cache_destroy(cache);
}

module_init(fsramtry_init);
module_exit(fsramtry_exit);
MODULE_DESCRIPTION("Known allocations");
MODULE_LICENSE("GPL");
