/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A clone of a job at work: its requests, one after the other, and what each
 * took.
 *
 * What it found lies in memory that it shares with the process that reports.
 * Each latency takes 8 bytes of it, touched before the job begins.
 */
#ifndef FIOJOBS_WORK_H
#define FIOJOBS_WORK_H

#include "files.h"
#include "jobs.h"
#include "latency.h"

/* Kinds of operations; a write to a file opened with sync is WRITE_SYNC. */
enum kind { READ, WRITE, WRITE_SYNC, FSYNC, FDATASYNC, KINDS };

extern const char *const kind_names[];

struct found {
	struct latency latency[KINDS];
	uint64_t bytes[WAYS];
	uint64_t began, ended; /* on the clock of clock.h */
	volatile bool stopped; /* another's exitall ends it after a request */
};

/* Room for what a clone finds, shared with the children of this process. */
struct found *found_open(const struct job *job);

/* Do it all; run in a process of its own. */
int work(struct files *files, uint64_t clone, struct found *found);

#endif
