/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A connection to the database in the modes that were asked for, and what
 * SQLite says of them. Every failure is told with SQLite's extended code.
 */
#ifndef SQLBENCH_DATABASE_H
#define SQLBENCH_DATABASE_H

#include <sqlite3.h>

#include "request.h"
#include "rows.h"

#define DATABASE_NAME "bench.db"

/* What SQLite told when it was asked for the modes; each is a text. */
enum mode {
	MODE_JOURNAL,
	MODE_SYNCHRONOUS,
	MODE_LOCKING,
	MODE_PAGE_SIZE,
	MODE_CACHE_SIZE,
	MODE_MMAP_SIZE,
	MODES
};

extern const char *const mode_names[MODES];

struct database {
	const struct request *request;
	char *path;
	sqlite3 *db;
	sqlite3_stmt *statements[STATEMENTS];
	sqlite3_stmt *begin, *commit;
	char *modes[MODES];
};

/* Say what SQLite could not do, with its code; always returns -1. */
int complain(sqlite3 *db, const char *what);

/* Open the file and ask for the modes; the file may be new. */
int database_open(struct database *database, const struct request *request);
/* Prepare every statement, for which SQLite reads the schema. */
int database_prepare(struct database *database);
/* Prepare one statement, anew if it is prepared already. */
int database_prepare_statement(struct database *database, enum statement which);
/* Run SQL whose rows do not matter. */
int database_do(struct database *database, const char *sql);
/* What one row of one column says, for the caller to free; NULL: it failed. */
char *database_ask(struct database *database, const char *sql);
/* Step a prepared statement to its end; the number of rows, or -1. */
int database_step(struct database *database, sqlite3_stmt *stmt);
/* Close it; the modes that were told stay until database_forget(). */
int database_close(struct database *database);
void database_forget(struct database *database);

/* A new database with its rows, in the modes that were asked for. */
int database_create(struct database *database, const struct request *request,
		    struct rows *rows);
/* Whether it is whole and has @rows rows; as SQLite itself checks it. */
int database_check(struct database *database, const struct request *request,
		   uint64_t rows);

#endif
