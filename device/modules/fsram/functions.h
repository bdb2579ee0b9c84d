/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Live bytes by the function that allocated them. The slab allocator merges
 * caches of one size, so a cache tells nothing; the caller does.
 *
 * Nothing here takes a lock: the table's caller holds it.
 */
#ifndef FSRAM_FUNCTIONS_H
#define FSRAM_FUNCTIONS_H

#include <linux/types.h>

#define FUNCTION_NAME	64
#define RECLAIMABLE_MAX 32

struct ram_function {
	/* Without what the compiler adds (".isra.0"); static functions of one
	 * name are one. "others": those past the room for functions. */
	char name[FUNCTION_NAME];
	u64 bytes;	  /* live */
	u64 peak_bytes;	  /* the most since functions_reset_peak() */
	u64 allocations;  /* made so far */
	bool reclaimable; /* the kernel can take them back under pressure */
};

/* The names of the functions whose allocations are reclaimable. */
void functions_init(char **reclaimable, unsigned int count);

/* The function of this call site, by number; the number holds for good. */
unsigned int function_of(unsigned long site);

bool function_is_reclaimable(unsigned int number);
void function_allocated(unsigned int number, u32 bytes);
void function_freed(unsigned int number, u32 bytes);
void functions_reset_peak(void);

/* A copy of the function with this number; false if there is none. */
bool function_get(unsigned int number, struct ram_function *to);

#endif
