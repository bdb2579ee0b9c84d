/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A part of a load, which is a phase of its result: its time, its system calls
 * each checked, timed alone and counted, and what the chip did meanwhile.
 *
 * A part may go on after another one: times and counts add up. A call that
 * fails is not counted: what is told was done. Costs two clock readings and 8
 * bytes of memory a call. The chip's statistics are read outside of all times.
 */
#ifndef FILELOAD_PART_H
#define FILELOAD_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flashstat.h"
#include "latency.h"
#include "usage.h"

struct json;

enum call {
	CALL_CREATE, /* open(2) that makes the file */
	CALL_OPEN,   /* open(2) of what is there, emptied or not */
	CALL_WRITE,  /* write(2) or pwrite(2) */
	CALL_FSYNC,
	CALL_CLOSE,
	CALL_UNLINK,
	CALLS,
};

/* The phase's name in front of its calls' names: of a part that prepares. */
struct part {
	const char *name;
	bool prepares;
	struct latency each[CALLS];
	uint64_t written;     /* bytes */
	uint64_t ns, sync_ns; /* the sync's is not part of the first */
	/* COUNT_MISSING where the chip shows none. */
	struct flash_counters chip,
		chip_sync; /* that of syncs is part of all */
	struct usage usage;
	struct flash_counters from; /* since the part went on */
	struct usage usage_from;
	uint64_t began;
};

void part_open(struct part *part, const char *name, bool prepares);
void part_close(struct part *part);

/* The part goes on; @flash is the directory of the chip's statistics. */
void part_begin(struct part *part, const char *flash);
/*
 * It ends, or pauses. The file system that @synced is on is synced before the
 * last look at the chip; NULL: it is not.
 */
int part_end(struct part *part, const char *flash, const char *synced);

/* What each returns, or -1 after a message. */
int part_create(struct part *part, const char *path);
int part_open_file(struct part *part, const char *path, int flags);
/* All of @size at @at, or -1; what came before a failure is counted. */
int part_write(struct part *part, int fd, const void *data, size_t size,
	       uint64_t at, const char *path);
int part_fsync(struct part *part, int fd, const char *path);
int part_close_file(struct part *part, int fd, const char *path);
int part_unlink(struct part *part, const char *path);

/* The part as an element of the member phases. */
void part_json(struct json *json, const struct part *part);
/* How many of each kind, as members. */
void part_operations_json(struct json *json, const struct part *part);
/* Sorts the latencies, and tells them as members. */
int part_latencies_json(struct json *json, struct part *part);

#endif
