/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The result of one run, from which the reports are made. */
#ifndef FFSMARK_RESULT_H
#define FFSMARK_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include "flashstat.h"
#include "latency.h"
#include "warnings.h"

enum phase {
	PHASE_FILL,
	PHASE_CREATION,
	PHASE_TRANSACTIONS,
	PHASE_DELETION,
	PHASES
};

enum op { OP_CREATE, OP_READ, OP_APPEND, OP_DELETE, OPS };

/* Their names in all outputs. */
extern const char *const phase_names[PHASES];
extern const char *const op_names[OPS];

/* Flash operations within some span of time; each may be COUNT_MISSING. */
struct flash_use {
	uint64_t reads;	   /* pages */
	uint64_t programs; /* pages */
	uint64_t erases;   /* blocks */
};

/* The state of the flash that the fill reached. */
struct fill_state {
	bool known; /* from the chip's counts; if false, the rest is invalid */
	bool split; /* valid and invalid too are known */
	double valid;	/* share of the partition's pages programmed for it */
	double invalid; /* the same, for the data deleted afterwards, less what
			 * was erased before the creation */
	double before;	/* share programmed before the fill */
	double programmed; /* share programmed right before the creation */
};

struct result {
	bool filled;		   /* there was a fill phase */
	uint64_t phase_ns[PHASES]; /* without the sync that ends it */
	uint64_t sync_ns[PHASES];  /* that sync alone */
	bool synced[PHASES];	   /* there was one */
	uint64_t elapsed_ns; /* creation to deletion, what lies between too */
	uint64_t ops[OPS][PHASES];
	uint64_t bytes_read;
	uint64_t bytes_written;
	uint64_t transactions; /* transactions done */
	struct latency latency[OPS];

	bool flash; /* the chip's counts could be read */
	struct flash_use phase_flash[PHASES]; /* with the sync that ends it */
	struct flash_use sync_flash[PHASES];  /* that sync alone */
	bool blocks_known;
	struct flash_blocks blocks; /* from before creation to after deletion */
	uint64_t partition_pages;
	uint64_t pages_per_block;
	struct fill_state state;
	struct warnings warnings;
};

/* Operations of one kind over all phases. */
uint64_t result_total(const struct result *result, enum op op);
void result_close(struct result *result);

#endif
