/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One point, run: what its requests took, and what the chip did for them.
 */
#ifndef READBENCH_BENCH_H
#define READBENCH_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "files.h"
#include "flashstat.h"
#include "latency.h"
#include "point.h"
#include "usage.h"
#include "warnings.h"

struct bench {
	const char *flash;   /* directory of the chip's statistics */
	const char *control; /* where the kernel's caches are dropped */
	uint64_t seed;	     /* of the places */
	uint64_t rest_ms;    /* the chip is idle so long before a point, ms */
	bool verify;	     /* compare what was read, outside the time */
	bool counted;	     /* the chip's statistics can be read */
	struct files *files;
	unsigned char *buffer;	   /* as large as the largest request */
	struct warnings *warnings; /* doubts about the result */
};

/* What was counted over the requests of a point. */
struct found {
	struct latency latency; /* sorted */
	uint64_t ns;		/* sum of all latencies */
	uint64_t first_ns;	/* of the first request */
	uint64_t bytes;		/* read */
	uint64_t open_ns;	/* open, map and advise, of all opens */
	uint64_t open_reads;	/* the chip's page reads for these */
	uint64_t reads, programs, erases;
	struct usage usage; /* the differences, summed */
};

/* Drop the caches, rest, and run the point; -1 after a message. */
int bench_point(const struct bench *bench, const struct point *point,
		struct found *found);
void bench_free(struct found *found);

#endif
