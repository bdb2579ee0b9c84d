/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A tree as it is drawn, before any file system has a say in it.
 *
 * From the top, for each folder: its number of files is drawn, then each
 * file's size, then, above the last level, its number of folders; then these
 * are grown in turn, each with all below it before the next. The draws' stream
 * begins at the seed. Files are f0000, f0001, ... unless another letter and
 * other digits are asked for, folders d00, d01, ...; past 9999 and 99 the
 * numbers get longer.
 */
#ifndef FILETREE_TREE_H
#define FILETREE_TREE_H

#include <stdint.h>

#include "draws/draw.h"
#include "path.h"
#include "tally.h"

#define TREE_MOST   10000000u /* folders and files together */
#define DIGITS_MOST 19

struct tree {
	uint64_t depth; /* levels of folders, the top counts */
	uint64_t seed;
	struct draw dirs, files, size;
	char letter;	 /* the first of a file's name */
	uint64_t digits; /* that follow it, 1 to DIGITS_MOST */
};

struct grower {
	struct path path; /* of what is being grown; open before */
	struct tally tally;
	/* Each makes what the path says and counts it; -1 ends the growth. */
	int (*folder)(void *context, struct grower *grower, uint64_t depth);
	int (*file)(void *context, struct grower *grower, uint64_t size);
	void *context;
};

int tree_grow(struct tree *tree, struct grower *grower);

#endif
