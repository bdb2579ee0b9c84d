/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Live allocations by address, with their sums. The table is allocated once,
 * since nothing may be allocated while an allocation is traced.
 */
#ifndef FSRAM_TABLE_H
#define FSRAM_TABLE_H

#include <linux/types.h>

enum ram_kind {
	RAM_SLAB, /* kmem_cache_alloc() */
	RAM_KMALLOC,
	RAM_VMALLOC,
	RAM_KINDS,
};

struct ram_sums {
	u64 bytes[RAM_KINDS]; /* live, as the allocator rounds them up */
	u64 total_bytes;      /* their sum */
	u64 peak_bytes;	      /* greatest sum since the last ram_reset_peak() */
	u64 objects;	      /* live allocations */
	u64 allocations;      /* made so far */
	u64 frees;
	u64 lost; /* allocations that found no room: sums are too low */
};

int ram_init(unsigned int slots_log2);
void ram_exit(void);

/* If the address is in the table already, its release was missed: replace
 * it. */
void ram_add(const void *address, u32 bytes, enum ram_kind kind);

/* Takes any address; false if it is not in the table. */
bool ram_remove(const void *address);

void ram_reset_peak(void);
struct ram_sums ram_sums(void);

#endif
