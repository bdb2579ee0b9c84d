// SPDX-License-Identifier: GPL-2.0-or-later
/* Runs of selects, as the read-ahead paper has them; see load.h. */
#include <stdbool.h>
#include <stdlib.h>

#include "clock.h"
#include "diag.h"
#include "load.h"

const char *const pattern_names[] = {"sequential", "random", "both", NULL};

/* How the names of phases have a pattern. */
static const char *const short_names[PATTERNS] = {"seq", "random"};

/* A run: so many selects, and which rows they take. */
struct turn {
	uint64_t selects;
	enum pattern pattern;
	uint64_t draws; /* state of the generator of random rows */
};

/* The key of the next row: runs of one pattern begin alike. */
static int64_t next(struct turn *turn, uint64_t i, uint64_t rows)
{
	if (turn->pattern == PATTERN_SEQUENTIAL)
		return (int64_t)(i % rows + 1);
	return (int64_t)(payload_draw(&turn->draws) % rows + 1);
}

static int select_all(struct database *database, struct turn *turn,
		      struct latency *latency)
{
	bool each = database->request->prepare == PREPARE_EACH;
	uint64_t rows = database->request->rows;

	for (uint64_t i = 0; i < turn->selects; i++) {
		int64_t id = next(turn, i, rows);
		uint64_t began = now_ns();
		sqlite3_stmt *stmt;
		int found;

		if (each && database_prepare_statement(database, ST_SELECT))
			return -1;
		stmt = database->statements[ST_SELECT];
		sqlite3_bind_int64(stmt, 1, id);
		found = database_step(database, stmt);
		latency_add(latency, now_ns() - began);
		if (found != 1)
			return found < 0 ? -1
					 : fail("select of row %lld found %d "
						"rows",
						(long long)id, found);
	}
	return 0;
}

static struct phase *begin(struct measured *measured, const struct turn *turn,
			   const char *part)
{
	unsigned long long selects = turn->selects;
	char *name =
		text("%s_%s_%llu", part, short_names[turn->pattern], selects);
	struct phase *phase = phase_begin(measured, name);

	phase->records = turn->selects;
	phase->pattern = pattern_names[turn->pattern];
	phase->part = part;
	return phase;
}

static int run(struct database *database, struct turn *turn,
	       struct measured *measured)
{
	const struct request *request = measured->request;
	unsigned long long selects = turn->selects;
	struct latency *latency = measured_kind(
		measured,
		text("select_%s_%llu", short_names[turn->pattern], selects),
		turn->selects);
	struct phase *phase;

	if (forget(request))
		return -1;
	phase = begin(measured, turn, "open");
	if (database_open(database, request) || database_prepare(database))
		return -1;
	phase_end(phase, measured);
	phase = begin(measured, turn, "select");
	if (select_all(database, turn, latency))
		return -1;
	phase_end(phase, measured);
	phase_made(phase, phase->name, turn->selects);
	phase->read = turn->selects * rows_bytes(request);
	if (load_look_at_mmap(database, measured))
		return -1;
	return database_close(database);
}

/* SQLite falls back to read(2) in silence where a map is refused. */
int load_look_at_mmap(struct database *database, struct measured *measured)
{
	unsigned long long asked = measured->request->mmap_bytes;
	char *told = database_ask(database, "PRAGMA mmap_size");

	if (!told)
		return -1;
	if (asked && !measured->unmapped && !strtoull(told, NULL, 10)) {
		measured->unmapped = true;
		warnings_add(&measured->warnings,
			     "mmap-refused: %llu bytes were to be mapped, and "
			     "SQLite maps none: the file system refused it, "
			     "and pages were read with read(2)",
			     asked);
	}
	free(database->modes[MODE_MMAP_SIZE]);
	database->modes[MODE_MMAP_SIZE] = told;
	return 0;
}

int load_selects(struct database *database, struct rows *rows,
		 struct measured *measured)
{
	const struct request *request = measured->request;

	measured_blocks(measured, true);
	for (int pattern = 0; pattern < PATTERNS; pattern++) {
		if (request->pattern != PATTERN_BOTH &&
		    request->pattern != pattern)
			continue;
		for (size_t i = 0; i < request->runs; i++) {
			struct turn turn = {
				.selects = request->selects[i],
				.pattern = (enum pattern)pattern,
				.draws = rows->draws,
			};

			if (run(database, &turn, measured))
				return -1;
		}
	}
	measured_blocks(measured, false);
	return 0;
}
