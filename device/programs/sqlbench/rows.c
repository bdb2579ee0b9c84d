// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows, their values and which is next; see rows.h. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "diag.h"
#include "rows.h"

/* Each generator begins elsewhere, whatever the seed is. */
#define OF_INTEGERS 0x1b873593u
#define OF_DRAWS    0xcc9e2d51u

const char *const statement_names[] = {"select", "insert", "update", "delete",
				       NULL};

/* The fields beside the key in order, each as @format has it, after commas. */
static char *fields(const char *format)
{
	char *made = text("%s", "");

	for (int i = 0; i < INTEGERS + TEXTS; i++) {
		bool number = i < INTEGERS;
		char *field = text(number ? "n%d" : "t%d",
				   number ? i + 1 : i - INTEGERS + 1);
		char *one = text(format, field, number ? "INTEGER" : "TEXT");
		char *more = text("%s%s%s", made, i ? ", " : "", one);

		free(one);
		free(field);
		free(made);
		made = more;
	}
	return made;
}

char *rows_table(void)
{
	char *all = fields("%s %s");
	char *sql =
		text("CREATE TABLE contacts(id INTEGER PRIMARY KEY, %s)", all);

	free(all);
	return sql;
}

char *rows_sql(enum statement statement)
{
	char *all, *sql;

	if (statement == ST_SELECT)
		return text("SELECT * FROM contacts WHERE id = ?");
	if (statement == ST_DELETE)
		return text("DELETE FROM contacts WHERE id = ?");
	if (statement == ST_UPDATE) {
		all = fields("%s = ?");
		sql = text("UPDATE contacts SET %s WHERE id = ?", all);
	} else {
		all = fields("?");
		sql = text("INSERT INTO contacts VALUES(%s, ?)", all);
	}
	free(all);
	return sql;
}

void rows_open(struct rows *rows, const struct request *request, uint64_t room)
{
	memset(rows, 0, sizeof(*rows));
	rows->request = request;
	payload_open(&rows->payload, PAYLOAD_POSTMARK, request->seed, 0,
		     request->text);
	rows->integers = request->seed ^ OF_INTEGERS;
	rows->draws = request->seed ^ OF_DRAWS;
	rows->ids = allocate(room, sizeof(*rows->ids), "the rows' keys");
	rows->room = room;
	rows->next = 1;
}

void rows_close(struct rows *rows)
{
	if (rows->payload.pool)
		payload_close(&rows->payload);
	free(rows->ids);
	rows->ids = NULL;
}

void rows_copy(struct rows *copy, const struct rows *rows)
{
	*copy = *rows;
	copy->payload.pool = NULL;
	copy->ids = allocate(rows->room, sizeof(*rows->ids), "the rows' keys");
	memcpy(copy->ids, rows->ids, rows->room * sizeof(*rows->ids));
}

enum statement rows_kind(struct rows *rows)
{
	const uint64_t *weights = rows->request->weights;
	uint64_t sum = 0, drawn;
	int kind = 0;

	for (int i = 0; i < STATEMENTS; i++)
		sum += weights[i];
	drawn = payload_draw(&rows->draws) % sum;
	while (drawn >= weights[kind])
		drawn -= weights[kind++];
	return (enum statement)kind;
}

static int64_t *at(struct rows *rows, uint64_t place)
{
	return &rows->ids[(rows->first + place) % rows->room];
}

static void append(struct rows *rows, int64_t id)
{
	*at(rows, rows->count++) = id;
}

int64_t rows_take(struct rows *rows, enum statement statement)
{
	bool random = rows->request->pattern == PATTERN_RANDOM;
	int64_t *taken, id;

	if (statement == ST_INSERT) {
		append(rows, rows->next);
		return rows->next++;
	}
	taken = at(rows, random ? payload_draw(&rows->draws) % rows->count : 0);
	id = *taken;
	if (random && statement != ST_DELETE)
		return id;
	*taken = *at(rows, 0);
	rows->first = (rows->first + 1) % rows->room;
	rows->count--;
	if (statement != ST_DELETE)
		append(rows, id);
	return id;
}

/* The values beside the key, from place 1 on; the bytes of them. */
static uint64_t bind_values(struct rows *rows, sqlite3_stmt *stmt, int place)
{
	uint64_t size = rows->request->text;

	for (int i = 0; i < INTEGERS; i++)
		sqlite3_bind_int(
			stmt, place++,
			(int)(int32_t)(uint32_t)payload_draw(&rows->integers));
	for (int i = 0; i < TEXTS; i++)
		sqlite3_bind_text(stmt, place++,
				  payload_next(&rows->payload, size), (int)size,
				  SQLITE_STATIC);
	return INTEGERS * INTEGER_BYTES + TEXTS * size;
}

uint64_t rows_bind(struct rows *rows, sqlite3_stmt *stmt,
		   enum statement statement, int64_t id)
{
	if (statement == ST_INSERT) {
		sqlite3_bind_int64(stmt, 1, id);
		return INTEGER_BYTES + bind_values(rows, stmt, 2);
	}
	if (statement == ST_UPDATE) {
		sqlite3_bind_int64(stmt, FIELDS, id);
		return bind_values(rows, stmt, 1);
	}
	sqlite3_bind_int64(stmt, 1, id);
	return 0;
}

uint64_t rows_bytes(const struct request *request)
{
	return (1 + INTEGERS) * INTEGER_BYTES + TEXTS * request->text;
}
