/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Live allocations by address, with their sums, those by function, and their
 * series. The table is allocated once, since nothing may be allocated while an
 * allocation is traced.
 */
#ifndef FSRAM_TABLE_H
#define FSRAM_TABLE_H

#include <linux/types.h>

#include "functions.h"
#include "series.h"

enum ram_kind {
	RAM_SLAB, /* kmem_cache_alloc() */
	RAM_KMALLOC,
	RAM_VMALLOC,
	RAM_KINDS,
};

struct ram_sums {
	u64 bytes[RAM_KINDS]; /* live, as the allocator rounds them up */
	struct ram_held held; /* their sum, and what of it is reclaimable */
	u64 peak_bytes;	      /* greatest sum since the last ram_reset_peak() */
	u64 peak_kept_bytes;  /* the same of what is not reclaimable */
	u64 objects;	      /* live allocations */
	u64 allocations;      /* made so far */
	u64 frees;
	u64 lost;	  /* allocations that found no room: sums are too low */
	u64 samples;	  /* of the series, the lost ones too */
	u64 samples_lost; /* the oldest, overwritten by newer ones */
};

int ram_init(unsigned int slots_log2);
void ram_exit(void);

/* If the address is in the table already, its release was missed: replace
 * it. site: the code that allocated it. */
void ram_add(const void *address, u32 bytes, enum ram_kind kind,
	     unsigned long site);

/* Takes any address; false if it is not in the table. */
bool ram_remove(const void *address);

void ram_reset_peak(void);
void ram_begin_series(void);

/* All as it is now; the series then has the ends of intervals until now. */
struct ram_sums ram_sums(void);

/* Copies of a function and of a sample; false: there is none of this number. */
bool ram_function(unsigned int number, struct ram_function *to);
bool ram_sample(u64 number, struct ram_sample *to);

#endif
