/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recorded load, made: what was there before, then each call in turn, with
 * its latency.
 *
 * A call that the trace did and that cannot be done here ends the load: what
 * follows it would be another one. Every other difference (bytes read, a
 * position, a failure that does not come, a call that this file system does not
 * offer) is counted, and the first is told.
 */
#ifndef REPLAY_PLAY_H
#define REPLAY_PLAY_H

#include "calls.h"
#include "latency.h"
#include "script.h"

struct load {
	struct script script;
	size_t calls_at; /* where the calls begin in the script */
	unsigned long calls_line;
	uint64_t before;       /* lines of what is there before */
	uint64_t count[KINDS]; /* calls; those of O_SYNC not told apart */
	uint64_t writes;       /* those of O_SYNC and others together */
	uint64_t largest;      /* bytes that one call moves at the most */
};

struct played {
	struct latency latency[KINDS];
	uint64_t ns;	   /* in calls, without what lies between them */
	uint64_t think_ns; /* slept between calls */
	uint64_t bytes_read, bytes_written;
	uint64_t unlike; /* calls that returned otherwise than in the trace */
	char first[512]; /* the first of these, in a sentence */
};

/* Read the whole script, so that a mistake in it is found before any call. */
int load_open(struct load *load, const char *path);
void load_close(struct load *load);

int play_before(struct load *load, struct player *player);

void played_open(struct played *played, const struct load *load);
void played_close(struct played *played);

/* @think: what the times between calls are multiplied by; 0: none. */
int play_calls(struct load *load, struct player *player, double think,
	       struct played *played);

#endif
