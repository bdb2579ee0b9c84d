/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the requests of a point are in a file.
 *
 * Random places come from the seed and from nothing else of the list: points of
 * one size ask for the same places in the same order, whatever their access and
 * advice, and fewer requests are the first of more.
 *
 * Costs 16 bytes of memory a request, and 8 for each place of a random point's
 * file; all are written before the first request.
 */
#ifndef READBENCH_PLACES_H
#define READBENCH_PLACES_H

#include <stdint.h>

#include "point.h"

struct place {
	uint64_t offset; /* bytes from the file's start */
	uint64_t bytes;	 /* what the request asks for */
};

struct places {
	struct place *all;
	uint64_t count;
};

/* Requests that the point makes in a file of @file_bytes. */
uint64_t places_count(const struct point *point, uint64_t file_bytes);

/* The requests in their order; the file must have what point_needs() says. */
void places_open(struct places *places, const struct point *point,
		 uint64_t file_bytes, uint64_t seed);
void places_close(struct places *places);

#endif
