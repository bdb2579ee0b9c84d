/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A log on disk: files of records, the newest of which grows.
 *
 * Each operation is timed alone. What a commit or a rotation returns from is on
 * the flash: the one ends with fsync() of the file, the other with that of the
 * folder. What an append returns from need not be. A record is an append and
 * the commit that makes it durable: file systems write in the one or in the
 * other.
 */
#ifndef LOGWRITER_LOG_H
#define LOGWRITER_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "latency.h"
#include "payload.h"

enum op { OP_APPEND, OP_COMMIT, OP_RECORD, OP_ROTATE, OPS };

/* Their names in the result. */
extern const char *const op_names[OPS];

struct request {
	const char *folder;	/* where the log is; it must be empty */
	const char *flash;	/* directory of the chip's statistics */
	uint64_t records;	/* appended in all */
	uint64_t record_bytes;	/* bytes of a record */
	uint64_t commit_every;	/* records between two commits */
	uint64_t file_bytes;	/* most bytes of a file */
	uint64_t keep;		/* files that are kept */
	uint64_t history;	/* full files that are there at the begin */
	uint64_t interval_ms;	/* pause after a commit, ms; 0: none */
	uint64_t seed;		/* of the data */
	double compressibility; /* share that a compressor can take out */
};

struct log {
	const struct request *request;
	struct payload payload;
	struct latency latency[OPS];
	int folder;	   /* descriptor, to sync names */
	int fd;		   /* of the newest file */
	char *path;	   /* of the newest file */
	uint64_t size;	   /* of the newest file, bytes */
	uint64_t pending;  /* records since the last commit */
	uint64_t *begun;   /* when their appends began, by the clock */
	uint64_t oldest;   /* number of the oldest file that is there */
	uint64_t newest;   /* and of the newest; 0: there is none */
	uint64_t pause_ns; /* spent in pauses */
};

/* Make the log with its history, synced, and an empty newest file. */
int log_open(struct log *log, const struct request *request);
/* Append every record, with its commits and rotations; all are committed. */
int log_run(struct log *log);
/* Close what is open and free what is held; the files stay. */
int log_close(struct log *log);

#endif
