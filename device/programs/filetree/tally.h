/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a tree consists of: counts, mean and deviation of each number drawn. */
#ifndef FILETREE_TALLY_H
#define FILETREE_TALLY_H

#include <stdint.h>

struct json;

/* Mean and deviation of numbers as they come (Welford's way). */
struct moments {
	uint64_t count;
	double mean;
	double squares; /* sum of the squared distances to the mean */
};

struct tally {
	uint64_t folders, files, bytes;
	uint64_t others; /* neither folder nor file: links, devices */
	uint64_t depth;	 /* levels of folders, the top counts */
	/* Of each folder; of each above the last level; of each file. */
	struct moments files_each, dirs_each, size_each;
};

void moments_add(struct moments *moments, uint64_t number);

/* Count a folder at level @depth; the top's is 1. */
static inline void tally_folder(struct tally *tally, uint64_t depth)
{
	tally->folders++;
	if (depth > tally->depth)
		tally->depth = depth;
}

/* The members of figures. */
void tally_json(struct json *json, const struct tally *tally);

#endif
