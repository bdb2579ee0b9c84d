/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every latency of one kind of operation, kept whole, so that percentiles are
 * exact and not read off a histogram.
 *
 * Costs 8 bytes an operation, reserved and touched before the first one: a page
 * fault of the recorder must not end up in what it records.
 */
#ifndef LIB_LATENCY_H
#define LIB_LATENCY_H

#include <stddef.h>
#include <stdint.h>

struct json;

struct latency {
	uint64_t *ns; /* one per operation, in the order they came */
	uint64_t count;
	uint64_t room; /* operations that fit */
};

void latency_open(struct latency *latency, uint64_t room);
void latency_close(struct latency *latency);

static inline void latency_add(struct latency *latency, uint64_t ns)
{
	if (latency->count < latency->room)
		latency->ns[latency->count] = ns;
	latency->count++;
}

/*
 * Sort what was recorded; required before latency_rank(). Fails if there were
 * more operations than room.
 */
int latency_sort(struct latency *latency);

/*
 * The latency that @per_mille of the operations did not exceed, by nearest
 * rank: the smallest one recorded such that at least that share of all is not
 * above it. 500 is the (lower) median, 0 the least, 1000 the greatest.
 */
uint64_t latency_rank(const struct latency *latency, unsigned int per_mille);

/* As a JSON member: an object of figures in ns, null when none came. */
void latency_json(struct json *json, const char *key,
		  const struct latency *latency);

#endif
