/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the requests of a job go, and how large they are.
 *
 * In any order, each block of a file comes once, unless the job has no map. Of
 * several sizes, a request ends before a block that has come already, as fio's.
 */
#ifndef FIOJOBS_PLACES_H
#define FIOJOBS_PLACES_H

#include "files.h"
#include "jobs.h"

struct place {
	uint64_t offset, bytes; /* from where the job's part of a file begins */
};

/* A pass over a file begins: all its bytes are to come. */
void places_begin(const struct files *files, struct file *file,
		  uint64_t *random);

/* *@random: the state of what is drawn. */
struct place place_next(const struct files *files, struct file *file,
			enum way way, uint64_t *random);

/* A number below @bound. */
uint64_t draw_below(uint64_t *random, uint64_t bound);

#endif
