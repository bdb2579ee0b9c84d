/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A run of the program: what is asked for, what it holds, what it found. */
#ifndef READBENCH_SESSION_H
#define READBENCH_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "bench.h"
#include "files.h"
#include "flashstat.h"
#include "point.h"
#include "warnings.h"

/* What the command line asks for. */
struct request {
	const char *folder;  /* where the files are made */
	const char *points;  /* path of the file of points */
	const char *flash;   /* directory of the chip's statistics */
	const char *control; /* where the kernel's caches are dropped */
	uint64_t files;	     /* to make */
	uint64_t file_bytes; /* of each file */
	uint64_t bytes_min, bytes_max; /* drawn in between; 0: file_bytes */
	uint64_t seed;		       /* of data, sizes and random places */
	uint64_t rest_ms; /* quiet of the chip before a point, ms */
	bool verify;	  /* compare what was read */
};

struct session {
	const struct request *request;
	struct files files;
	struct points points;
	struct found *found; /* one a point */
	struct warnings warnings;
	uint64_t write_ns;		     /* writing and syncing the files */
	struct flash_counters before, after; /* of the writing */
	bool counted; /* the chip's statistics can be read */
};

/* Print the result, one line of JSON. */
int tell(const struct session *session);

#endif
