// SPDX-License-Identifier: GPL-2.0-or-later
/* See database.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "database.h"

#define FNV_BASIS 0xcbf29ce484222325u
#define FNV_PRIME 0x100000001b3u

struct told {
	char *to;
	size_t bytes;
};

static int take_row(void *context, int columns, char **values, char **names)
{
	struct told *told = context;

	(void)names;
	if (told->to && columns)
		snprintf(told->to, told->bytes, "%s",
			 values[0] ? values[0] : "");
	return 0;
}

int database_do(sqlite3 *db, const char *sql, char *told, size_t bytes)
{
	struct told context = {told, bytes};

	if (told)
		*told = '\0';
	return sqlite3_exec(db, sql, take_row, &context, NULL);
}

static void digest_bytes(uint64_t *to, const void *from, size_t bytes)
{
	const uint8_t *byte = from;

	while (bytes--)
		*to = (*to ^ *byte++) * FNV_PRIME;
}

static void digest_row(uint64_t *to, sqlite3_stmt *row)
{
	int i, type, size;

	for (i = 0; i < sqlite3_column_count(row); i++) {
		type = sqlite3_column_type(row, i);
		size = sqlite3_column_bytes(row, i);
		digest_bytes(to, &type, sizeof(type));
		digest_bytes(to, &size, sizeof(size));
		if (size)
			digest_bytes(to, sqlite3_column_blob(row, i),
				     (size_t)size);
	}
}

static int digest_table(sqlite3 *db, const char *name, uint64_t *digest)
{
	char *sql = sqlite3_mprintf("SELECT * FROM \"%w\" ORDER BY 1", name);
	sqlite3_stmt *rows;
	int code = sqlite3_prepare_v2(db, sql, -1, &rows, NULL);

	sqlite3_free(sql);
	if (code != SQLITE_OK)
		return code;
	digest_bytes(digest, name, strlen(name));
	while ((code = sqlite3_step(rows)) == SQLITE_ROW)
		digest_row(digest, rows);
	sqlite3_finalize(rows);
	return code == SQLITE_DONE ? SQLITE_OK : code;
}

int database_digest(sqlite3 *db, uint64_t *digest)
{
	sqlite3_stmt *tables;
	int code = sqlite3_prepare_v2(db,
				      "SELECT name FROM sqlite_master WHERE "
				      "type = 'table' ORDER BY name",
				      -1, &tables, NULL);

	*digest = FNV_BASIS;
	if (code != SQLITE_OK)
		return code;
	while ((code = sqlite3_step(tables)) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(tables, 0);

		code = digest_table(db, name, digest);
		if (code != SQLITE_OK)
			break;
	}
	sqlite3_finalize(tables);
	return code == SQLITE_DONE ? SQLITE_OK : code;
}
