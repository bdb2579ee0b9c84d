// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Loads of SQL, read from a text: a line is statements that are done at once,
 * "load TITLE" begins the next load. What each line makes of the database is
 * learnt from SQLite itself, in memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "database.h"
#include "diag.h"
#include "sqlcut.h"

#define LINE_MAX_BYTES 8192

static int add(struct load *load, const char *line, sqlite3 *memory)
{
	struct op op = {.what = OP_SYNC,
			.name = NONE,
			.to = NONE,
			.inode = NONE,
			.begun = NEVER,
			.returned = NEVER};

	if (database_do(memory, line, NULL, 0) ||
	    database_digest(memory, &op.at))
		return fail("%s: %s: %s", load->title, line,
			    sqlite3_errmsg(memory));
	op.data = (uint8_t *)text("%s", line);
	load->op = realloc(load->op, (size_t)(load->ops + 1) * sizeof(op));
	if (!load->op)
		return fail("no memory for a load");
	load->op[load->ops++] = op;
	return 0;
}

/* The base was done long ago. */
static void end_base(struct load *load)
{
	int i;

	load->base = load->ops;
	for (i = 0; i < load->ops; i++)
		load->op[i].begun = load->op[i].returned = 0;
}

/* The n-th load of the file; at tells how many are there. */
static int read_lines(FILE *file, int n, struct load *load, sqlite3 *memory,
		      int *at)
{
	char line[LINE_MAX_BYTES];

	while (*at <= n && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		if (!*line || *line == '#')
			continue;
		if (strncmp(line, "load ", 5)) {
			if ((*at < 0 || *at == n) && add(load, line, memory))
				return -1;
			continue;
		}
		if (*at < 0)
			end_base(load);
		if (++*at == n) {
			free(load->title);
			load->title = text("%s", line + 5);
		}
	}
	return 0;
}

int sql_read(const char *path, int n, struct load *load)
{
	FILE *file = fopen(path, "re");
	int at = -1, error;
	sqlite3 *memory;

	if (!file)
		return fail_errno("open", path);
	load->title = text("base");
	if (sqlite3_open(":memory:", &memory))
		error = fail("no memory for a database");
	else
		error = read_lines(file, n, load, memory, &at);
	sqlite3_close(memory);
	fclose(file);
	return error ? error : at < n;
}

void sql_free(struct load *load)
{
	int i;

	for (i = 0; i < load->ops; i++)
		free(load->op[i].data);
	free(load->title);
	free(load->op);
}
