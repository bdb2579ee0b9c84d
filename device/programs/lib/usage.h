/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where time and bytes went between two moments: how long the processor idled,
 * by the kernel's cpuidle, and what the chip's driver counted. Whoever reports
 * a phase with it can be told where its energy went.
 *
 * A reading opens, reads and closes one file of the chip and one for each idle
 * state of the first processor: keep it outside whatever is being timed.
 */
#ifndef LIB_USAGE_H
#define LIB_USAGE_H

#include <stdint.h>

struct json;

/* COUNT_MISSING stands for what is not known. */
struct usage {
	uint64_t idle_ns; /* the processor idled, in whole us */
	uint64_t busy_ns; /* the chip worked */
	/* Of that, what was added to the clock: the processor neither ran nor
	 * idled. */
	uint64_t warped_ns;
	uint64_t bytes_read; /* over the chip's bus, spare bytes included */
	uint64_t bytes_written;
	uint64_t register_hits; /* reads that the chip's register answered */
};

/* As it stands now, counted since the board's boot. */
struct usage usage_now(void);

/* What came between two readings, as a JSON member: an object. */
void usage_json(struct json *json, const char *key, const struct usage *before,
		const struct usage *after);

#endif
