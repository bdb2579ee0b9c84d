/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the hooks in the kernel's allocators say, and those of vmalloc(). */
#ifndef FSRAM_EVENTS_H
#define FSRAM_EVENTS_H

#include "table.h"

/* Something was allocated by the code at this site; NULL: it failed. */
void allocated(unsigned long site, const void *address, size_t bytes,
	       enum ram_kind kind);

void freed(const void *address);

int attach_vmalloc(void);
void detach_vmalloc(void);

#endif
