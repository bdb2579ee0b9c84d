// SPDX-License-Identifier: GPL-2.0-or-later
/* Places of requests; see places.h. */
#include <stdlib.h>

#include "diag.h"
#include "payload.h"
#include "places.h"

#define PERCENT 100

/* All of a file has its tail too, which may be less than a request. */
static uint64_t count_of_head(const struct point *point, uint64_t file_bytes)
{
	uint64_t whole;

	if (point->n == PERCENT)
		return (file_bytes + point->size - 1) / point->size;
	whole = file_bytes * point->n / PERCENT / point->size;
	return whole ? whole : 1;
}

uint64_t places_count(const struct point *point, uint64_t file_bytes)
{
	return point->pattern == HEAD ? count_of_head(point, file_bytes)
				      : point->count;
}

/* The first @count of all @units, shuffled (Fisher and Yates). */
static void draw_without(struct places *places, uint64_t units, uint64_t size,
			 uint64_t state)
{
	uint64_t *unit = allocate(units, sizeof(*unit), "a file's places");

	for (uint64_t i = 0; i < units; i++)
		unit[i] = i;
	for (uint64_t i = 0; i < places->count; i++) {
		uint64_t j = i + payload_draw(&state) % (units - i);
		uint64_t drawn = unit[j];

		unit[j] = unit[i];
		places->all[i].offset = drawn * size;
	}
	free(unit);
}

static uint64_t offset_of(const struct point *point, uint64_t i,
			  uint64_t file_bytes, uint64_t *state)
{
	uint64_t units = file_bytes / point->size;

	switch ((enum pattern)point->pattern) {
	case BACKWARD:
		return (units - 1 - i) * point->size;
	case STRIDE:
		return i * point->n * point->size;
	case RANDOM_REPLACE:
		return payload_draw(state) % units * point->size;
	case RANDOM_UNALIGNED:
		return payload_draw(state) % (file_bytes - point->size + 1);
	case SEQUENTIAL:
	case HEAD:
	case RANDOM:
		break;
	}
	return i * point->size;
}

void places_open(struct places *places, const struct point *point,
		 uint64_t file_bytes, uint64_t seed)
{
	uint64_t state = ~seed; /* the files' data comes from the seed itself */

	places->count = places_count(point, file_bytes);
	places->all = allocate(places->count, sizeof(*places->all),
			       "a point's places");
	for (uint64_t i = 0; i < places->count; i++) {
		struct place *place = &places->all[i];
		uint64_t left;

		place->offset = offset_of(point, i, file_bytes, &state);
		left = file_bytes - place->offset;
		place->bytes = left < point->size ? left : point->size;
	}
	if (point->pattern == RANDOM)
		draw_without(places, file_bytes / point->size, point->size,
			     state);
}

void places_close(struct places *places)
{
	free(places->all);
}
