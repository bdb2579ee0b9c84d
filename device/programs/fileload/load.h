/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the command line asks for, and what a load consists of. */
#ifndef FILELOAD_LOAD_H
#define FILELOAD_LOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "draws/draw.h"
#include "part.h"
#include "payload.h"

#define PIECE	   65536    /* bytes of a write of a whole file, at the most */
#define BYTES_MOST 16777216 /* of one write of update and interleave */
#define FILES_MOST 10000000
#define PARTS	   2

/* The words of the command line. */
struct request {
	const char *command;
	const char *place; /* FILE, BIG or DIR */
	const char *small; /* of interleave */
	const char *flash; /* directory of the chip's statistics */
	uint64_t count, bytes, steps, rounds, files, total;
	uint64_t big_step, small_bytes;
	uint64_t fsync_every; /* 0: never */
	uint64_t seed;
	struct draw size;
	int payload;		/* the position in payload_names */
	double compressibility; /* 0..1 */
	int each;		/* files are opened for each write */
	int at;			/* where updates begin, see enum place_way */
	int overwrite;		/* files are not emptied before */
	bool sync;
};

/* Where updates begin, in the order of --at's words. */
enum place_way { ANY_BYTE, MULTIPLE, SHUFFLED };

struct load {
	const struct request *request;
	struct payload payload;
	uint64_t random; /* state of the stream of draws */
	uint64_t due;	 /* writes, steps or files since the last fsync */
	struct part parts[PARTS];
	int parts_begun;
	uint64_t held; /* bytes that its files have in all */
};

/*
 * A command: an exit code, after a message unless it is EXIT_OK. What it did
 * before a failure is in the load; of EXIT_USAGE it did nothing.
 */
typedef int command(struct request *request, struct load *load);

command update_run, interleave_run, rewrite_run, cycle_run;

/* The load begins: its data come in pieces of @largest bytes at the most. */
void load_open(struct load *load, const struct request *request,
	       size_t largest);
void load_close(struct load *load);

/* Part @i goes on; @name and @prepares count when it begins. */
struct part *load_begin(struct load *load, int i, const char *name,
			bool prepares);
/* It ends, with the sync that was asked for unless it failed. */
int load_end(struct load *load, struct part *part, const char *place,
	     int error);

/* Whether a write, step or file more makes an fsync due. */
bool load_fsync_due(struct load *load);

/* Write a file whole, from its begin on, and close it. */
int load_file(struct load *load, struct part *part, int fd, uint64_t size,
	      const char *path);

#endif
