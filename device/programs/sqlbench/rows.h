/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table and its rows: contacts as in the read-ahead paper, 17 fields, of
 * which 12 are integers (one of them the key) and 5 are texts.
 *
 * Integers are random 32-bit numbers, texts are random printable characters.
 * A row's bytes are those of its values: 4 for an integer, one for a character.
 */
#ifndef SQLBENCH_ROWS_H
#define SQLBENCH_ROWS_H

#include <sqlite3.h>
#include <stdint.h>

#include "payload.h"
#include "request.h"

#define INTEGERS      11 /* beside the key */
#define TEXTS	      5
#define FIELDS	      (1 + INTEGERS + TEXTS)
#define INTEGER_BYTES 4

/* SQL of the table, and of each statement on it; for the caller to free. */
char *rows_table(void);
char *rows_sql(enum statement statement);

struct rows {
	const struct request *request;
	struct payload payload; /* of the texts */
	uint64_t integers;	/* state of the generator of integers */
	uint64_t draws;		/* state of the generator of choices */
	int64_t *ids;		/* of the rows that there are: a ring */
	uint64_t first, count, room;
	int64_t next; /* the key of the next row to insert */
};

/* No row; @room is how many there can be at once. */
void rows_open(struct rows *rows, const struct request *request, uint64_t room);
void rows_close(struct rows *rows);
/* A copy that draws the same choices, to count what they will be. */
void rows_copy(struct rows *copy, const struct rows *rows);

/* Draw the kind of the next statement by the weights. */
enum statement rows_kind(struct rows *rows);

/*
 * The key of the row that a statement takes: the one that was not taken for
 * longest, or any, as the request says. Call with rows->count > 0, or for an
 * insert, which takes a new key.
 */
int64_t rows_take(struct rows *rows, enum statement statement);

/* Bind a statement's values; the bytes of them that it stores. */
uint64_t rows_bind(struct rows *rows, sqlite3_stmt *stmt,
		   enum statement statement, int64_t id);

/* Bytes of a whole row's values. */
uint64_t rows_bytes(const struct request *request);

#endif
