/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a run is asked to do; main.c takes it from the command line. */
#ifndef SQLBENCH_REQUEST_H
#define SQLBENCH_REQUEST_H

#include <stddef.h>
#include <stdint.h>

enum statement { ST_SELECT, ST_INSERT, ST_UPDATE, ST_DELETE, STATEMENTS };

enum drop { DROP_NONE, DROP_PAGES, DROP_ALL };

enum prepare { PREPARE_ONCE, PREPARE_EACH };

enum pattern {
	PATTERN_SEQUENTIAL,
	PATTERN_RANDOM,
	PATTERNS,
	PATTERN_BOTH = PATTERNS
};

/* Names by their numbers; each list is ended by NULL. */
extern const char *const statement_names[];
extern const char *const drop_names[];
extern const char *const prepare_names[];
extern const char *const pattern_names[];
extern const char *const synchronous_names[];

struct request {
	const char *folder;	  /* where the database is kept */
	const char *flash;	  /* directory of the chip's statistics */
	const char *control;	  /* the kernel's file that drops its caches */
	const char *journal;	  /* SQLite's journal_mode */
	const char *synchronous;  /* SQLite's synchronous */
	const char *locking;	  /* SQLite's locking_mode */
	uint64_t rows;		  /* that the table has at first */
	uint64_t text;		  /* characters of each of a row's texts */
	uint64_t create_commit;	  /* rows of a commit as it is made; 0: all */
	uint64_t page_size;	  /* of the database, bytes */
	uint64_t cache_kib;	  /* most KiB of SQLite's own cache */
	uint64_t mmap_bytes;	  /* most bytes that SQLite maps; 0: none */
	uint64_t checkpoint;	  /* pages of a WAL; 0: only at the close */
	uint64_t transactions;	  /* committed in all */
	uint64_t rows_per_commit; /* statements of a transaction */
	uint64_t weights[STATEMENTS]; /* of each kind among them */
	uint64_t seed;		      /* of values, ids and kinds */
	int pattern;		      /* enum pattern: which rows are taken */
	int drop;		      /* enum drop: what the kernel forgets */
	int prepare;		      /* enum prepare: how often, of selects */
	uint64_t *selects;	      /* statements of each run of selects */
	size_t runs;		      /* of them; 0: transactions instead */
};

#endif
