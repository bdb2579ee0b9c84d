/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A device's settings: small files, each replaced as a whole.
 *
 * A save writes NAME.new, syncs it, renames it over NAME and syncs the folder:
 * after a power cut there is the old file or the new one, never a part. Its
 * calls are timed alone, and the save as a whole. When it returns, the file is
 * on flash.
 */
#ifndef CONFIGWRITER_STORE_H
#define CONFIGWRITER_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "latency.h"
#include "payload.h"

enum op { OP_WRITE, OP_FSYNC, OP_RENAME, OP_FSYNC_FOLDER, OP_SAVE, OPS };

/* Their names in the result. */
extern const char *const op_names[OPS];

struct request {
	const char *folder;	/* where the files are; it must be empty */
	const char *flash;	/* directory of the chip's statistics */
	uint64_t files;		/* settings files */
	uint64_t bytes;		/* of each */
	uint64_t rounds;	/* times that each is saved */
	uint64_t interval_ms;	/* think time after a save, ms; 0: none */
	uint64_t seed;		/* of the data */
	double compressibility; /* share that a compressor can take out */
	bool time_making;	/* the first of each is a phase of its own */
};

struct store {
	const struct request *request;
	struct payload payload;
	struct latency latency[OPS];
	int folder;	   /* descriptor, to sync names */
	uint64_t pause_ns; /* spent in pauses */
};

/* Take what is needed, and open the folder. */
int store_open(struct store *store, const struct request *request);
/*
 * Make every file for the first time. It is in no figure, and the file system
 * is synced at the end; where it is timed, the folder is synced after each file
 * instead, as after a save.
 */
int store_make(struct store *store);
/* Save each file in turn, in every round. */
int store_run(struct store *store);
/* Close what is open and free what is held; the files stay. */
int store_close(struct store *store);

#endif
