// SPDX-License-Identifier: GPL-2.0-or-later
/* The oracle of SQL: see main.c. */
#include <stdio.h>
#include <string.h>

#include "database.h"
#include "diag.h"
#include "sqlcut.h"

/* The last line that had returned at the cut, and the last that had begun. */
static void moments(const struct load *load, uint32_t operations, bool in_next,
		    int *kept, int *last)
{
	int i;

	*kept = *last = load->base - 1;
	for (i = load->base; i < load->ops; i++) {
		if (load->op[i].returned <= operations)
			*kept = *last = i;
		else if (load->op[i].begun < operations + in_next)
			*last = i;
	}
}

static void judge_content(const struct load *load, uint32_t operations,
			  bool in_next, uint64_t content,
			  struct finding *finding)
{
	int i, kept, last;

	moments(load, operations, in_next, &kept, &last);
	for (i = kept; i <= last; i++)
		if (load->op[i].at == content)
			return;
	for (i = kept - 1; i >= load->base - 1; i--) {
		if (load->op[i].at != content)
			continue;
		cuts_found(finding, LOST,
			   "line %d had returned, and the database is as after "
			   "line %d",
			   kept - load->base + 1, i - load->base + 1);
		return;
	}
	cuts_found(finding, WRONG, "the database is as after no line");
}

/* Whether the database can be read, and is sound; seen: a digest of it. */
static bool look_at(sqlite3 *db, struct finding *finding, uint64_t *seen)
{
	char told[100];

	if (database_do(db, "PRAGMA locking_mode=exclusive", NULL, 0) ||
	    database_do(db, "PRAGMA integrity_check(1)", told, sizeof(told)) ||
	    database_digest(db, seen))
		cuts_found(finding, UNREADABLE, "SQLite: %s",
			   sqlite3_errmsg(db));
	else if (strcmp(told, "ok"))
		cuts_found(finding, WRONG, "integrity_check: %s", told);
	else
		return true;
	return false;
}

static bool open_and_look(struct finding *finding, uint64_t *seen)
{
	bool whole = false;
	sqlite3 *db;

	*seen = 0;
	if (sqlite3_open_v2(DATABASE, &db, SQLITE_OPEN_READWRITE, NULL))
		cuts_found(finding, LOST, "the database: %s",
			   sqlite3_errmsg(db));
	else
		whole = look_at(db, finding, seen);
	sqlite3_close(db);
	return whole;
}

void sql_judge(const struct load *load, uint32_t operations, bool in_next,
	       struct finding *finding, uint64_t *seen)
{
	if (open_and_look(finding, seen))
		judge_content(load, operations, in_next, *seen, finding);
}

void sql_look(const struct load *load, struct finding *finding, uint64_t *seen)
{
	(void)load;
	open_and_look(finding, seen);
}
