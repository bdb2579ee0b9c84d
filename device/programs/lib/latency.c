// SPDX-License-Identifier: GPL-2.0-or-later
/* Exact latencies; see latency.h. */
#include <stdlib.h>
#include <string.h>

#include "diag.h"
#include "json.h"
#include "latency.h"

void latency_open(struct latency *latency, uint64_t room)
{
	latency->count = 0;
	latency->room = room;
	latency->ns = allocate(room, sizeof(*latency->ns), "the latencies");
	/* Any value but zero: calloc() gives pages that do not exist until
	 * written. */
	memset(latency->ns, 0xff, (size_t)room * sizeof(*latency->ns));
}

void latency_close(struct latency *latency)
{
	free(latency->ns);
	memset(latency, 0, sizeof(*latency));
}

#define DIGIT_BITS 11
#define DIGITS	   (1u << DIGIT_BITS)

/* Distribute by one digit, keeping the order of equals. */
static void sort_by_digit(const uint64_t *from, uint64_t *to, uint64_t count,
			  unsigned int shift)
{
	uint64_t place[DIGITS] = {0};
	uint64_t sum = 0;

	for (uint64_t i = 0; i < count; i++)
		place[from[i] >> shift & (DIGITS - 1)]++;
	for (unsigned int digit = 0; digit < DIGITS; digit++) {
		uint64_t these = place[digit];

		place[digit] = sum;
		sum += these;
	}
	for (uint64_t i = 0; i < count; i++)
		to[place[from[i] >> shift & (DIGITS - 1)]++] = from[i];
}

/*
 * A radix sort, since a slow board may have millions of latencies to sort:
 * three passes suffice for anything below 8 seconds.
 */
int latency_sort(struct latency *latency)
{
	uint64_t greatest = 0;
	uint64_t *spare;

	if (latency->count > latency->room)
		return fail("%llu latencies recorded where %llu had room",
			    (unsigned long long)latency->count,
			    (unsigned long long)latency->room);
	spare = allocate(latency->count, sizeof(*spare), "sorting latencies");
	for (uint64_t i = 0; i < latency->count; i++)
		if (latency->ns[i] > greatest)
			greatest = latency->ns[i];
	for (unsigned int shift = 0; shift < 64 && greatest >> shift;
	     shift += DIGIT_BITS) {
		uint64_t *sorted = spare;

		sort_by_digit(latency->ns, sorted, latency->count, shift);
		spare = latency->ns;
		latency->ns = sorted;
	}
	latency->room = latency->count; /* of the array it ended up in */
	free(spare);
	return 0;
}

uint64_t latency_rank(const struct latency *latency, unsigned int per_mille)
{
	/* In two parts, since count * per_mille could pass 64 bits. */
	uint64_t rank = latency->count / 1000 * per_mille +
			(latency->count % 1000 * per_mille + 999) / 1000;

	return latency->ns[rank ? rank - 1 : 0];
}

void latency_json(struct json *json, const char *key,
		  const struct latency *latency)
{
	static const struct {
		const char *key;
		unsigned int per_mille;
	} figures[] = {
		{"min", 0},   {"median", 500}, {"p95", 950},
		{"p99", 990}, {"p99_9", 999},  {"max", 1000},
	};

	if (!latency->count) {
		json_null(json, key);
		return;
	}
	json_object(json, key);
	json_count(json, "count", latency->count);
	for (size_t i = 0; i < sizeof(figures) / sizeof(*figures); i++)
		json_count(json, figures[i].key,
			   latency_rank(latency, figures[i].per_mille));
	json_end(json);
}
