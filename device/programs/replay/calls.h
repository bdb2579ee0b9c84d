/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The calls of a recorded load, made below one folder.
 *
 * A file that is open has the number that the trace's reader gave it: that of
 * an open file description, whatever descriptors the traced processes had for
 * it. Paths are from the folder.
 */
#ifndef REPLAY_CALLS_H
#define REPLAY_CALLS_H

#include "payload.h"
#include "script.h"

struct player {
	int root;     /* descriptor of the folder */
	int *files;   /* descriptor by number, -1: none is open */
	bool *synced; /* by number: each write of it is durable */
	char *read;   /* where reads go */
	struct payload payload;
};

/* What may be asked for before the calls, and the calls. */
extern const struct verb befores[], calls[];

/* The word that ends what is there before. */
#define CALLS_BEGIN "calls"

/* @largest: bytes that a call moves at the most. */
int player_open(struct player *player, const char *folder, uint64_t largest,
		enum payload_kind kind, uint64_t seed, double compressibility);
void player_close(struct player *player);

/* What this call counts as. */
enum kind call_kind(const struct player *player, const struct call *call);

#endif
