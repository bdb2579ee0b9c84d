/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The few kernel types and calls that the chip needs, so that the same files
 * compile as part of the module and as part of a user-space test.
 */
#ifndef SIMNAND_SHIM_H
#define SIMNAND_SHIM_H

#ifdef __KERNEL__

#include <linux/bitops.h>
#include <linux/crc32.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/preempt.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/vmalloc.h>

/*
 * NULL if memory runs short, or where sleeping is forbidden (an oops is being
 * written out). The caller may be the kernel, writing to this flash to free
 * memory, so we must not take the last of the RAM: a chip of 128 MiB on a board
 * of 128 MiB ended in an out-of-memory panic.
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

static inline unsigned int shim_weight8(u8 byte)
{
	return hweight8(byte);
}

static inline u64 shim_div(u64 a, u32 b)
{
	return div_u64(a, b);
}

/* CRC-32 as in zlib: begin with 0, then pass the result of the part before. */
static inline u32 shim_crc32(u32 crc, const void *from, size_t bytes)
{
	return ~crc32_le(~crc, from, bytes);
}

#else

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
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

static inline unsigned int shim_weight8(u8 byte)
{
	return __builtin_popcount(byte);
}

static inline u64 shim_div(u64 a, u32 b)
{
	return a / b;
}

static inline u32 shim_crc32(u32 crc, const void *from, size_t bytes)
{
	const u8 *byte = from;
	int bit;

	for (crc = ~crc; bytes; bytes--) {
		crc ^= *byte++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return ~crc;
}

#endif
#endif
