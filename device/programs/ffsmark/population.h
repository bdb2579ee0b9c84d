/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files of a run and the choices among them.
 *
 * There are twice as many slots as files at first; a slot of size 0 is free.
 * Every choice is drawn from one Mersenne Twister, in Postmark's order and from
 * Postmark's ranges, so that the same seed gives the same files with the same
 * names and sizes, created, read, appended to and deleted in the same order.
 */
#ifndef FFSMARK_POPULATION_H
#define FFSMARK_POPULATION_H

#include "config.h"
#include "twister.h"

struct slot {
	uint64_t size;	 /* bytes of the file; 0: no file */
	uint64_t number; /* the file's name: files created before it, + 1 */
	uint32_t location;
	uint32_t subdirectory; /* unused when there are none */
};

struct population {
	const struct config *config;
	struct twister choices;
	struct slot *slots;
	uint64_t slot_count;
	uint64_t next_free;	/* the slot after the last one taken */
	uint64_t no_hole_below; /* every slot before this one is taken */
	uint64_t created;
	uint64_t deleted;
	uint64_t bytes;	  /* held by all files now */
	uint64_t weights; /* sum over the locations */
	char **prefixes;  /* of each location: "dir/", "" for the current one */
	size_t *prefix_lengths;
	char *path; /* of the file last named by population_path() */
};

void population_open(struct population *population,
		     const struct config *config);
void population_close(struct population *population);

/*
 * Take a free slot and draw a name and a size for it. NULL when all slots are
 * taken, which Postmark ignores. The size is only set by population_created(),
 * once the file is there.
 */
struct slot *population_place(struct population *population, uint64_t *size);
void population_created(struct population *population, struct slot *slot,
			uint64_t size);

/* Draw a file that exists. There must be one. */
struct slot *population_draw(struct population *population);

/* Bytes to append to this file: 0 when it has reached the high bound. */
uint64_t population_growth(struct population *population,
			   const struct slot *slot);
void population_grown(struct population *population, struct slot *slot,
		      uint64_t growth);
void population_deleted(struct population *population, struct slot *slot);

/* Draw a number from 0 to 9: is it below @bias? */
bool population_chance(struct population *population, int64_t bias);

/* The path of a slot's file, good until the next call. */
const char *population_path(struct population *population,
			    const struct slot *slot);

/* The path of a subdirectory, good until the next call. */
const char *population_directory(struct population *population,
				 uint64_t location, uint64_t subdirectory);

#endif
