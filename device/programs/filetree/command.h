/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the command line asks for, and what a command found. */
#ifndef FILETREE_COMMAND_H
#define FILETREE_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

#include "calls.h"
#include "sha.h"
#include "payload.h"
#include "tally.h"
#include "tree.h"

#define PIECE 65536 /* bytes of a write and of a read, at the most */

/* The words of the command line. */
struct request {
	const char *command;
	const char *place; /* DIR or FILE */
	const char *name;  /* of find */
	struct tree tree;
	int payload;		/* the position in payload_names */
	double compressibility; /* 0..1 */
	double share;		/* of the free bytes; 0: until there are none */
	const char *list;	/* file of paths to read; NULL: all */
	bool dry_run, digest, keep_top;
};

struct found {
	struct calls calls;
	struct tally tally;
	char digest[SHA256_HEX]; /* "": none was asked for */
};

/* What a command gives that was told what cannot be, and has done nothing. */
#define REFUSED (-2)

/* A command: 0, REFUSED or -1 after a message; what it did before is found. */
typedef int command(struct request *request, struct found *found);

command make_run, list_run, find_run, read_run, delete_run, fill_run;

/* The stream of data that @request asks for. */
void request_payload(const struct request *request, struct payload *payload);

#endif
