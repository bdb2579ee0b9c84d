/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The few kernel types and calls that chip.c needs, so that the same chip.c
 * compiles as part of the module and as part of a user-space test.
 */
#ifndef SIMNAND_SHIM_H
#define SIMNAND_SHIM_H

#ifdef __KERNEL__

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/preempt.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/vmalloc.h>

/*
 * NULL when memory runs short, or where sleeping is forbidden (an oops is
 * being written out). The caller may be the kernel freeing memory by writing
 * to this very flash, so what is left of RAM is not for us to take: a chip of
 * 128 MiB on a board of 128 MiB ended in an out-of-memory panic.
 */
static inline void *shim_alloc(size_t bytes)
{
	if (oops_in_progress || in_atomic() ||
	    si_mem_available() < totalram_pages() / 8)
		return NULL;
	return __vmalloc(bytes, GFP_NOIO | __GFP_NORETRY | __GFP_NOWARN);
}

static inline void *shim_zalloc(size_t bytes)
{
	return vzalloc(bytes);
}

static inline void shim_free(void *memory)
{
	vfree(memory);
}

#else

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;

static inline void *shim_alloc(size_t bytes)
{
	return malloc(bytes);
}

static inline void *shim_zalloc(size_t bytes)
{
	return calloc(1, bytes);
}

static inline void shim_free(void *memory)
{
	free(memory);
}

#endif
#endif
