/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was measured: phases, each with its time and what the chip and the
 * processor did in it, and the latencies of each kind of operation.
 *
 * A phase's counts are read before its clock starts and after it stops.
 */
#ifndef SQLBENCH_MEASURE_H
#define SQLBENCH_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flashstat.h"
#include "latency.h"
#include "request.h"
#include "usage.h"
#include "warnings.h"

#define PHASE_COUNTS 6 /* most kinds of operation of a phase */

/* What was counted at a moment. */
struct mark {
	bool flash; /* the chip's statistics could be read */
	struct flash_counters counters;
	struct usage usage;
};

struct phase {
	char *name;
	uint64_t began;			 /* of its clock; then of its sync's */
	uint64_t ns, sync_ns;		 /* COUNT_MISSING: it has no sync */
	struct mark before, done, after; /* done: before the sync */
	struct {
		const char *name;
		uint64_t made;
	} counts[PHASE_COUNTS];
	size_t kinds;
	uint64_t read, written; /* bytes of values */
	uint64_t records;	/* statements of a run of selects; 0: no run */
	const char *pattern;	/* of it */
	const char *part;	/* of it: "open" or "select" */
};

struct kind {
	char *name;
	struct latency latency;
};

/* What SQLite's files and memory took. */
struct sizes {
	uint64_t database;	 /* when its rows were in it, bytes */
	uint64_t database_after; /* at the end, closed */
	uint64_t wal;		 /* before the close; 0: there is none */
	uint64_t heap;		 /* most bytes that SQLite had allocated */
};

struct measured {
	const struct request *request;
	struct phase *phases;
	size_t count, room;
	struct kind *kinds;
	size_t kind_count, kind_room;
	struct flash_blocks before, after; /* of the timed phases */
	bool blocks;			   /* they could be read */
	struct sizes sizes;
	bool unmapped; /* SQLite was to map the file, and did not */
	struct warnings warnings;
};

void measured_open(struct measured *measured, const struct request *request,
		   size_t phases, size_t kinds);
void measured_close(struct measured *measured);

/* Begin and end a phase; at most one is open. @name becomes its own. */
struct phase *phase_begin(struct measured *measured, char *name);
void phase_end(struct phase *phase, const struct measured *measured);
/* End it with a sync of the file system. */
int phase_end_synced(struct phase *phase, const struct measured *measured);
void phase_made(struct phase *phase, const char *kind, uint64_t made);

/* A kind of operation with room for the latencies of @room. */
struct latency *measured_kind(struct measured *measured, char *name,
			      uint64_t room);

/* The chip's blocks, before the first timed phase and after the last. */
void measured_blocks(struct measured *measured, bool first);
int measured_sort(struct measured *measured);

/* Drop what the kernel keeps of files, as the request says. */
int forget(const struct request *request);

#endif
