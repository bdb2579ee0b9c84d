/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bytes held at the end of each interval, in a ring of fixed size.
 *
 * There is no timer. What is held changes only with an allocation or a
 * release, and just before such a change all ends of intervals since the last
 * one saw what is held now. So the samples are exact, and a kernel that
 * allocates nothing is not disturbed. An end at which as much is held as at
 * the sample before gets none.
 *
 * Nothing here takes a lock: the table's caller holds it.
 */
#ifndef FSRAM_SERIES_H
#define FSRAM_SERIES_H

#include <linux/types.h>

struct ram_held {
	u64 bytes;
	u64 reclaimable_bytes; /* of these, what the kernel can take back */
};

struct ram_sample {
	u64 t_ns; /* CLOCK_MONOTONIC */
	struct ram_held held;
};

/* interval_ms: 0: there is no series. samples: room in the ring. */
int series_init(unsigned int interval_ms, unsigned int samples);
void series_exit(void);

/* Forgets all samples; the first of the new ones is now. */
void series_begin(struct ram_held held);

/* To be called before each change, with what is held until then. */
void series_go_on(struct ram_held held);

u64 series_count(void); /* samples taken, the lost ones too */
u64 series_lost(void);	/* the oldest, overwritten by newer ones */

/* By number, from series_lost() to series_count() - 1; false: not there. */
bool series_get(u64 number, struct ram_sample *to);

#endif
