// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sqlbench: what SQLite costs on a file system, in the modes that a product can
 * choose.
 *
 * Makes a table of contacts (rows.h) and closes it; no figure has that. Then,
 * on a connection of its own, commits transactions of select, insert, update
 * and delete (phases open, run, close), or selects rows in runs, each with the
 * kernel's caches dropped and a connection of its own (--selects).
 *
 * SQLite tells which modes it is in; one that it did not take ends the program.
 * At the end, outside all phases, SQLite checks the database (integrity_check)
 * and counts its rows.
 *
 * What the load writes are the values that are bound: 4 bytes for an integer,
 * one for a character. Costs 8 bytes of memory an operation and a row, beside
 * what SQLite takes (heap_bytes). Needs SQLite: see needs.toml.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "checked.h"
#include "database.h"
#include "diag.h"
#include "load.h"
#include "measure.h"
#include "options.h"
#include "pagecache.h"
#include "takes.h"
#include "tell.h"

#define MOST	    1e12
#define RUNS_MOST   1000
#define PAGE_LEAST  512
#define PAGE_MOST   65536
#define PHASES_LOAD 4
#define KINDS_LOAD  (STATEMENTS + 2)

const char *const drop_names[] = {"none", "pages", "all", NULL};
const char *const prepare_names[] = {"once", "each", NULL};

static const char *const journal_names[] = {
	"delete", "truncate", "persist", "memory", "wal", "off", NULL};
static const char *const locking_names[] = {"normal", "exclusive", NULL};

#define TAKE_WEIGHT(field, name, kind)                                         \
	static int on_##field(void *context, const char *value)                \
	{                                                                      \
		return take_count(&((struct request *)context)->weights[kind], \
				  name, value, 0, MOST);                       \
	}
#define TAKE_WORD(field, name, list)                              \
	static int on_##field(void *context, const char *value)   \
	{                                                         \
		int place;                                        \
                                                                  \
		if (take_choice(&place, name, value, list))       \
			return -1;                                \
		((struct request *)context)->field = list[place]; \
		return 0;                                         \
	}
#define TAKE_PLACE(field, name, list)                                         \
	static int on_##field(void *context, const char *value)               \
	{                                                                     \
		return take_choice(&((struct request *)context)->field, name, \
				   value, list);                              \
	}

TAKE_COUNT(rows, "rows", 1, MOST)
TAKE_COUNT(text, "text", 0, MOST)
TAKE_COUNT(create_commit, "create-rows-per-commit", 0, MOST)
TAKE_COUNT(page_size, "page-size", PAGE_LEAST, MOST)
TAKE_COUNT(cache_kib, "cache-kib", 1, MOST)
TAKE_COUNT(mmap_bytes, "mmap-bytes", 0, MOST)
TAKE_COUNT(checkpoint, "checkpoint", 0, MOST)
TAKE_COUNT(transactions, "transactions", 1, MOST)
TAKE_COUNT(rows_per_commit, "rows-per-commit", 1, MOST)
TAKE_COUNT(seed, "seed", 0, MOST)
TAKE_WEIGHT(select, "select", ST_SELECT)
TAKE_WEIGHT(insert, "insert", ST_INSERT)
TAKE_WEIGHT(update, "update", ST_UPDATE)
TAKE_WEIGHT(delete, "delete", ST_DELETE)
TAKE_WORD(journal, "journal", journal_names)
TAKE_WORD(synchronous, "synchronous", synchronous_names)
TAKE_WORD(locking, "locking", locking_names)
TAKE_PLACE(pattern, "pattern", pattern_names)
TAKE_PLACE(drop, "drop", drop_names)
TAKE_PLACE(prepare, "prepare", prepare_names)
TAKE_TEXT(flash)
TAKE_TEXT(control)
TAKE_TEXT(folder)

static int on_selects(void *context, const char *value)
{
	struct request *request = context;
	char *list = text("%s", value), *rest = list, *each;
	int error = 0;

	request->runs = 0;
	while (!error && (each = strsep(&rest, ","))) {
		if (request->runs == RUNS_MOST)
			error = fail("--selects: give %d runs at the most",
				     RUNS_MOST);
		else
			error = take_count(&request->selects[request->runs++],
					   "selects", each, 1, MOST);
	}
	free(list);
	return error;
}

static const struct option_decl options[] = {
	{NULL, "FOLDER", "where the database is kept", on_folder},
	{"rows", "N", "rows of the table (1000)", on_rows},
	{"text", "CHARACTERS", "of each of a row's 5 texts (64)", on_text},
	{"create-rows-per-commit", "N",
	 "rows of each commit that makes the table; 0: all (0)",
	 on_create_commit},
	{"page-size", "BYTES", "of the database (4096)", on_page_size},
	{"cache-kib", "KIB", "most of SQLite's page cache (2000)",
	 on_cache_kib},
	{"mmap-bytes", "BYTES", "most that SQLite maps; 0: nothing (0)",
	 on_mmap_bytes},
	{"journal", "MODE", "delete, truncate, persist, memory, wal, off",
	 on_journal},
	{"synchronous", "MODE", "off, normal, full, extra (full)",
	 on_synchronous},
	{"locking", "MODE", "normal, exclusive (normal)", on_locking},
	{"checkpoint", "PAGES", "of a WAL; 0: only at the close (1000)",
	 on_checkpoint},
	{"transactions", "N", "to commit (100)", on_transactions},
	{"rows-per-commit", "N", "statements of each (1)", on_rows_per_commit},
	{"select", "WEIGHT", "of selects among the statements (0)", on_select},
	{"insert", "WEIGHT", "of inserts (0)", on_insert},
	{"update", "WEIGHT", "of updates (1)", on_update},
	{"delete", "WEIGHT", "of deletes (0)", on_delete},
	{"pattern", "WHICH", "rows are taken: sequential, random; both",
	 on_pattern},
	{"selects", "N,N...", "runs of so many selects, instead", on_selects},
	{"prepare", "HOW", "of a run's selects: once, each (once)", on_prepare},
	{"drop", "WHAT", "of the kernel's caches: none, pages, all (all)",
	 on_drop},
	{"seed", "N", "of values, rows and kinds (1)", on_seed},
	{"flash", "DIR", "the chip's statistics (" FLASHSTAT_DIRECTORY ")",
	 on_flash},
	{"drop-file", "FILE", "drops them (" PAGECACHE_CONTROL ")", on_control},
};

static int check(const struct request *request)
{
	unsigned long long page = request->page_size;
	uint64_t weights = 0;

	if (!request->folder)
		return fail("FOLDER is missing: where the database is kept");
	if (page > PAGE_MOST || (page & (page - 1)))
		return fail("--page-size %llu: expected a power of two, %d to "
			    "%d",
			    page, PAGE_LEAST, PAGE_MOST);
	for (int kind = 0; kind < STATEMENTS; kind++)
		weights += request->weights[kind];
	if (!weights)
		return fail("give one of --select, --insert, --update, "
			    "--delete more than 0");
	if (!request->runs && request->pattern == PATTERN_BOTH)
		return fail("--pattern both is of --selects");
	if (!request->runs && request->prepare == PREPARE_EACH)
		return fail("--prepare each is of --selects");
	return 0;
}

static uint64_t bytes_of(const char *path)
{
	struct stat told;

	return stat(path, &told) ? 0 : (uint64_t)told.st_size;
}

static int create(struct database *database, struct rows *rows,
		  struct measured *measured)
{
	const struct request *request = measured->request;
	char *path = text("%s/" DATABASE_NAME, request->folder);
	struct phase *phase;
	int error = 0;

	if (bytes_of(path))
		error = fail("%s is there already", path);
	phase = phase_begin(measured, text("create"));
	error = error || database_create(database, request, rows) ||
		phase_end_synced(phase, measured);
	phase_made(phase, "insert", request->rows);
	phase->written = request->rows * rows_bytes(request);
	measured->sizes.database = bytes_of(path);
	measured->sizes.database_after = measured->sizes.database;
	free(path);
	return error ? -1 : 0;
}

/* How many rows there can be at once. */
static uint64_t room(const struct request *request)
{
	uint64_t inserts =
		request->weights[ST_INSERT] && !request->runs
			? request->transactions * request->rows_per_commit
			: 0;

	return request->rows + inserts + 1;
}

static int bench(const struct request *request)
{
	size_t phases = PHASES_LOAD + 2 * PATTERNS * request->runs;
	size_t kinds = KINDS_LOAD + PATTERNS * request->runs;
	struct database database = {0};
	struct measured measured;
	struct rows rows;
	int error;

	measured_open(&measured, request, phases, kinds);
	rows_open(&rows, request, room(request));
	error = create(&database, &rows, &measured);
	if (!error)
		error = request->runs
				? load_selects(&database, &rows, &measured)
				: load_transactions(&database, &rows,
						    &measured);
	measured.sizes.heap = (uint64_t)sqlite3_memory_highwater(0);
	if (!error)
		error = database_check(&database, request, rows.count) ||
			measured_sort(&measured) || tell(&measured, &database);
	else if (database.db)
		database_close(&database);
	database_forget(&database);
	rows_close(&rows);
	measured_close(&measured);
	return error;
}

int main(int argc, char **argv)
{
	struct request request = {
		.flash = FLASHSTAT_DIRECTORY,
		.control = PAGECACHE_CONTROL,
		.journal = "delete",
		.synchronous = "full",
		.locking = "normal",
		.rows = 1000,
		.text = 64,
		.page_size = 4096,
		.cache_kib = 2000,
		.checkpoint = 1000,
		.transactions = 100,
		.rows_per_commit = 1,
		.weights[ST_UPDATE] = 1,
		.pattern = PATTERN_RANDOM,
		.drop = DROP_ALL,
		.seed = 1,
	};
	bool helped;
	int error;

	(void)argc;
	diag_program = "sqlbench";
	request.selects = allocate(RUNS_MOST, sizeof(*request.selects),
				   "the runs of selects");
	if (options_walk(options, sizeof(options) / sizeof(*options), argv + 1,
			 &request, "FOLDER [OPTION...]",
			 "Commits transactions to SQLite, or selects.",
			 &helped))
		return helped ? EXIT_OK : EXIT_USAGE;
	if (check(&request))
		return EXIT_USAGE;
	/* Salts and nonces come from the seed: equal runs are equal. */
	sqlite3_test_control(SQLITE_TESTCTRL_PRNG_SEED,
			     (int)(request.seed % 0x7fffffff) + 1, NULL);
	error = bench(&request);
	free(request.selects);
	return error ? EXIT_RUN_FAILED : EXIT_OK;
}
