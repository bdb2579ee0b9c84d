// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The core's memory: from kmalloc(), or from vmalloc() if a piece is too big
 * for that, as the tables of a large chip are, or has no neighbouring pages.
 * The sum now and its peak are in /proc/yaffs: YAFFS2 keeps its whole index in
 * RAM, and the size of that decides whether a product can use it.
 *
 * The core asks while it holds the lock that reclaim and write-back wait for.
 * Such a request may not wait for them, nor have a program killed: the kernel
 * tries it for ever. So neighbouring pages are asked for once, and single ones
 * may be of those that the kernel keeps back (__GFP_HIGH): who holds the lock
 * must come to its end before anything else can free RAM.
 */
#include <linux/atomic.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/spinlock.h>

#include "yaffs2.h"

/* ksize() knows the size of a slab object; for those from vmalloc() we keep it.
 */
struct big {
	struct list_head others;
	const void *memory;
	size_t bytes;
};

static LIST_HEAD(bigs);
static DEFINE_SPINLOCK(lock);
static size_t now_bytes;
static size_t peak_bytes;

static void count(size_t bytes)
{
	spin_lock(&lock);
	now_bytes += bytes;
	peak_bytes = max(peak_bytes, now_bytes);
	spin_unlock(&lock);
}

static void *alloc_big(size_t bytes)
{
	struct big *big = kmalloc(sizeof(*big), GFP_NOFS | __GFP_HIGH);
	unsigned int scope;

	if (!big)
		return NULL;
	scope = memalloc_nofs_save();
	big->memory = __vmalloc(bytes, GFP_NOFS | __GFP_HIGH | __GFP_ZERO);
	memalloc_nofs_restore(scope);
	if (!big->memory) {
		kfree(big);
		return NULL;
	}
	big->bytes = PAGE_ALIGN(bytes);
	spin_lock(&lock);
	list_add(&big->others, &bigs);
	spin_unlock(&lock);
	count(big->bytes);
	return (void *)big->memory;
}

static void free_big(const void *memory)
{
	struct big *big, *found = NULL;

	spin_lock(&lock);
	list_for_each_entry (big, &bigs, others)
		if (big->memory == memory)
			found = big;
	if (found) {
		list_del(&found->others);
		now_bytes -= found->bytes;
	}
	spin_unlock(&lock);
	vfree(memory);
	kfree(found);
}

void *yl_alloc(size_t bytes, gfp_t flags)
{
	void *memory = NULL;

	flags |= __GFP_HIGH | __GFP_NOWARN;
	if (bytes > PAGE_SIZE)
		flags |= __GFP_NORETRY;
	if (bytes <= SZ_128K)
		memory = kmalloc(bytes, flags);
	if (!memory)
		return alloc_big(bytes);
	count(ksize(memory));
	return memory;
}

void yl_free(const void *memory)
{
	if (!memory)
		return;
	if (is_vmalloc_addr(memory)) {
		free_big(memory);
		return;
	}
	spin_lock(&lock);
	now_bytes -= ksize(memory);
	spin_unlock(&lock);
	kfree(memory);
}

void yl_memory(size_t *now, size_t *peak)
{
	spin_lock(&lock);
	*now = now_bytes;
	*peak = peak_bytes;
	spin_unlock(&lock);
}
