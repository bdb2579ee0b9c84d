/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The span of a phase: its time, the time of the sync that ends it, and what
 * the chip did in both. The chip's counters are read outside of what is timed.
 */
#ifndef FFSMARK_PHASES_H
#define FFSMARK_PHASES_H

#include "config.h"
#include "result.h"

struct phases {
	const struct config *config;
	struct result *result;
	char *chip; /* directory of its statistics; NULL: there are none */
	struct flash_counters start; /* when the phase began */
	uint64_t start_ns;
	uint64_t first_ns;	    /* when the creation began */
	struct flash_blocks blocks; /* before the creation */
};

/* Find the chip; warn if one was named and cannot be read. */
void phases_open(struct phases *phases, const struct config *config,
		 struct result *result);
void phases_close(struct phases *phases);

int phase_begin(struct phases *phases);
/* The clock stops on entry; then read the chip and, unless the settings say no,
 * sync and read it again. A fill is always synced. */
int phase_end(struct phases *phases, enum phase phase);

/* The chip's counters now. */
int phases_read_chip(const struct phases *phases,
		     struct flash_counters *counters);

/* Call before creation and after deletion: operations on each block between
 * them. */
int phases_blocks_begin(struct phases *phases);
int phases_blocks_end(struct phases *phases);

/* Sync the file system of every location. */
int phases_sync(const struct config *config);

#endif
