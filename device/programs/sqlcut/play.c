// SPDX-License-Identifier: GPL-2.0-or-later
/* A load's lines, done on a database of the file system under test. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "database.h"
#include "diag.h"
#include "sqlcut.h"

static sqlite3 *db;

/* A mode that SQLite did not take is told by the mode that it has. */
static bool took(const char *line, const char *told)
{
	const char *mode = strstr(line, "journal_mode=");

	return !mode || !strcasecmp(strchr(mode, '=') + 1, told);
}

int sql_play(const struct load *load, int number)
{
	const char *line = (const char *)load->op[number].data;
	char told[64];

	if (!db && sqlite3_open(DATABASE, &db) == SQLITE_OK)
		sqlite3_extended_result_codes(db, 1);
	if (database_do(db, line, told, sizeof(told)) == SQLITE_OK &&
	    took(line, told))
		return 0;
	errno = sqlite3_system_errno(db) ? sqlite3_system_errno(db) : EINVAL;
	return fail_errno("do", line);
}

void sql_play_end(void)
{
	sqlite3_close(db);
	db = NULL;
}
