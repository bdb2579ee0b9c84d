// SPDX-License-Identifier: GPL-2.0-or-later
/* Transactions on one connection; see load.h. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "clock.h"
#include "diag.h"
#include "load.h"

/* What the transactions need to keep. */
struct load {
	struct database *database;
	struct rows *rows;
	struct latency *statements[STATEMENTS];
	struct latency *commit, *transaction;
	uint64_t made[STATEMENTS];
	uint64_t read, written; /* bytes of values */
};

/* How many statements of each kind there will be: the draws are repeatable. */
static int foresee(const struct rows *rows, uint64_t made[STATEMENTS])
{
	const struct request *request = rows->request;
	uint64_t all = request->transactions * request->rows_per_commit;
	struct rows copy;
	int error = 0;

	rows_copy(&copy, rows);
	for (uint64_t i = 0; i < all && !error; i++) {
		enum statement kind = rows_kind(&copy);

		if (kind != ST_INSERT && !copy.count)
			error = fail("statement %llu finds no row: deletes "
				     "have taken all; give more --rows",
				     (unsigned long long)i + 1);
		else
			rows_take(&copy, kind);
		made[kind]++;
	}
	rows_close(&copy);
	return error;
}

static int statement(struct load *load)
{
	enum statement kind = rows_kind(load->rows);
	sqlite3_stmt *stmt = load->database->statements[kind];
	int64_t id = rows_take(load->rows, kind);
	uint64_t began, bytes;
	int rows;

	began = now_ns();
	bytes = rows_bind(load->rows, stmt, kind, id);
	rows = database_step(load->database, stmt);
	latency_add(load->statements[kind], now_ns() - began);
	if (rows < 0)
		return -1;
	if (kind == ST_SELECT && rows != 1)
		return fail("select of row %lld found %d rows", (long long)id,
			    rows);
	load->made[kind]++;
	load->written += bytes;
	load->read += kind == ST_SELECT ? rows_bytes(load->rows->request) : 0;
	return 0;
}

static int transaction(struct load *load)
{
	uint64_t statements = load->rows->request->rows_per_commit;
	uint64_t began = now_ns(), commits;

	if (database_step(load->database, load->database->begin) < 0)
		return -1;
	for (uint64_t i = 0; i < statements; i++)
		if (statement(load))
			return -1;
	commits = now_ns();
	if (database_step(load->database, load->database->commit) < 0)
		return -1;
	latency_add(load->commit, now_ns() - commits);
	latency_add(load->transaction, now_ns() - began);
	return 0;
}

static int run(struct load *load, struct measured *measured)
{
	uint64_t all = load->rows->request->transactions;
	struct phase *phase = phase_begin(measured, text("run"));

	for (uint64_t i = 0; i < all; i++)
		if (transaction(load))
			return fail("in transaction %llu of %llu",
				    (unsigned long long)i + 1,
				    (unsigned long long)all);
	phase_end(phase, measured);
	for (int kind = 0; kind < STATEMENTS; kind++)
		phase_made(phase, statement_names[kind], load->made[kind]);
	phase_made(phase, "commit", all);
	phase_made(phase, "transaction", all);
	phase->read = load->read;
	phase->written = load->written;
	return 0;
}

static void open_latencies(struct load *load, struct measured *measured,
			   const uint64_t foreseen[STATEMENTS])
{
	uint64_t all = load->rows->request->transactions;

	for (int kind = 0; kind < STATEMENTS; kind++)
		load->statements[kind] = measured_kind(
			measured, text("%s", statement_names[kind]),
			foreseen[kind]);
	load->commit = measured_kind(measured, text("commit"), all);
	load->transaction = measured_kind(measured, text("transaction"), all);
}

static uint64_t size_of(const char *path, const char *suffix)
{
	char *file = text("%s%s", path, suffix);
	struct stat told;
	int error = stat(file, &told);

	free(file);
	return error ? 0 : (uint64_t)told.st_size;
}

static int open_timed(struct database *database, struct measured *measured)
{
	struct phase *phase = phase_begin(measured, text("open"));

	if (database_open(database, measured->request) ||
	    database_prepare(database))
		return -1;
	phase_end(phase, measured);
	return 0;
}

/* A WAL is brought into the database here, and deleted. */
static int close_timed(struct database *database, struct measured *measured)
{
	char *path = text("%s", database->path);
	struct phase *phase;
	int error;

	measured->sizes.wal = size_of(path, "-wal");
	phase = phase_begin(measured, text("close"));
	error = database_close(database) || phase_end_synced(phase, measured);
	measured->sizes.database_after = size_of(path, "");
	if (!error && size_of(path, "-wal"))
		warnings_add(&measured->warnings,
			     "wal-kept: the close left a WAL of %llu bytes: "
			     "its checkpoint did not end",
			     (unsigned long long)size_of(path, "-wal"));
	free(path);
	return error ? -1 : 0;
}

int load_transactions(struct database *database, struct rows *rows,
		      struct measured *measured)
{
	struct load load = {.database = database, .rows = rows};
	uint64_t foreseen[STATEMENTS] = {0};

	if (foresee(rows, foreseen) || forget(measured->request))
		return -1;
	open_latencies(&load, measured, foreseen);
	measured_blocks(measured, true);
	if (open_timed(database, measured) || run(&load, measured) ||
	    load_look_at_mmap(database, measured) ||
	    close_timed(database, measured))
		return -1;
	measured_blocks(measured, false);
	return 0;
}
