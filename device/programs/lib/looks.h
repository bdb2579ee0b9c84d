/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Looks at the chip at moments of a load, and what it did between two of them,
 * as members of a result.
 *
 * A look reads two files of the chip's driver: keep it outside whatever is
 * being timed. Without such a chip nothing is told, which is no failure.
 */
#ifndef LIB_LOOKS_H
#define LIB_LOOKS_H

#include <stdbool.h>

#include "flashstat.h"

struct json;

struct look {
	bool there; /* whether the chip shows statistics */
	struct flash_counters counters;
	struct flash_blocks blocks;
};

/* Look at the chip whose statistics are in @directory. */
int look_at(struct look *look, const char *directory);
void look_free(struct look *look);

/* Reads, programs and erases between two looks; nothing without a chip. */
void look_counts_json(struct json *json, const char *key,
		      const struct look *before, const struct look *after);
/* The same of each block, as the member "per_block"; null without a chip. */
void look_blocks_json(struct json *json, const struct look *before,
		      const struct look *after);

#endif
