// SPDX-License-Identifier: GPL-2.0-or-later
/* The database and its modes; see database.h. */
#include <stdlib.h>
#include <string.h>

#include "diag.h"
#include "database.h"

#define NAMED(code) {code, #code}

const char *const synchronous_names[] = {"off", "normal", "full", "extra",
					 NULL};
const char *const mode_names[MODES] = {
	[MODE_JOURNAL] = "journal_mode",  [MODE_SYNCHRONOUS] = "synchronous",
	[MODE_LOCKING] = "locking_mode",  [MODE_PAGE_SIZE] = "page_size",
	[MODE_CACHE_SIZE] = "cache_size", [MODE_MMAP_SIZE] = "mmap_size",
};

static const struct {
	int code;
	const char *name;
} codes[] = {
	NAMED(SQLITE_FULL),
	NAMED(SQLITE_BUSY),
	NAMED(SQLITE_LOCKED),
	NAMED(SQLITE_NOMEM),
	NAMED(SQLITE_IOERR_NOMEM),
	NAMED(SQLITE_READONLY),
	NAMED(SQLITE_CORRUPT),
	NAMED(SQLITE_NOTADB),
	NAMED(SQLITE_CANTOPEN),
	NAMED(SQLITE_CONSTRAINT_PRIMARYKEY),
	NAMED(SQLITE_PROTOCOL),
	NAMED(SQLITE_IOERR),
	NAMED(SQLITE_IOERR_READ),
	NAMED(SQLITE_IOERR_SHORT_READ),
	NAMED(SQLITE_IOERR_WRITE),
	NAMED(SQLITE_IOERR_FSYNC),
	NAMED(SQLITE_IOERR_DIR_FSYNC),
	NAMED(SQLITE_IOERR_TRUNCATE),
	NAMED(SQLITE_IOERR_FSTAT),
	NAMED(SQLITE_IOERR_UNLOCK),
	NAMED(SQLITE_IOERR_RDLOCK),
	NAMED(SQLITE_IOERR_LOCK),
	NAMED(SQLITE_IOERR_DELETE),
	NAMED(SQLITE_IOERR_ACCESS),
	NAMED(SQLITE_IOERR_CLOSE),
	NAMED(SQLITE_IOERR_SHMOPEN),
	NAMED(SQLITE_IOERR_SHMSIZE),
	NAMED(SQLITE_IOERR_SHMLOCK),
	NAMED(SQLITE_IOERR_SHMMAP),
	NAMED(SQLITE_IOERR_MMAP),
};

static const char *name_of(int code)
{
	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++)
		if (codes[i].code == code)
			return codes[i].name;
	return "of SQLite";
}

int complain(sqlite3 *db, const char *what)
{
	int code = sqlite3_extended_errcode(db);
	int system = sqlite3_system_errno(db);

	if (!system)
		return fail("%s: %s (%s, extended code %d)", what,
			    sqlite3_errmsg(db), name_of(code), code);
	return fail("%s: %s (%s, extended code %d; the system: %s)", what,
		    sqlite3_errmsg(db), name_of(code), code, strerror(system));
}

int database_do(struct database *database, const char *sql)
{
	if (sqlite3_exec(database->db, sql, NULL, NULL, NULL) == SQLITE_OK)
		return 0;
	return complain(database->db, sql);
}

char *database_ask(struct database *database, const char *sql)
{
	sqlite3_stmt *stmt;
	char *told = NULL;
	int stepped;

	if (sqlite3_prepare_v2(database->db, sql, -1, &stmt, NULL)) {
		complain(database->db, sql);
		return NULL;
	}
	stepped = sqlite3_step(stmt);
	if (stepped == SQLITE_ROW)
		told = text("%s", (const char *)sqlite3_column_text(stmt, 0));
	else if (stepped == SQLITE_DONE)
		told = text("%s", ""); /* it has nothing to say */
	else
		complain(database->db, sql);
	sqlite3_finalize(stmt);
	return told;
}

int database_step(struct database *database, sqlite3_stmt *stmt)
{
	int rows = 0, stepped;

	while ((stepped = sqlite3_step(stmt)) == SQLITE_ROW)
		rows++;
	if (stepped == SQLITE_DONE && sqlite3_reset(stmt) == SQLITE_OK)
		return rows;
	return complain(database->db, sqlite3_sql(stmt));
}

/* Ask for a mode; -1 if SQLite fails. */
static int set(struct database *database, const char *mode, const char *value)
{
	char *sql = text("PRAGMA %s = %s", mode, value);
	char *told = database_ask(database, sql);

	free(sql);
	if (!told)
		return -1;
	free(told);
	return 0;
}

static int set_count(struct database *database, const char *mode,
		     long long value)
{
	char *number = text("%lld", value);
	int error = set(database, mode, number);

	free(number);
	return error;
}

/* Keep what SQLite says of a mode. */
static int learn(struct database *database, enum mode mode)
{
	char *sql = text("PRAGMA %s", mode_names[mode]);

	free(database->modes[mode]);
	database->modes[mode] = database_ask(database, sql);
	free(sql);
	return database->modes[mode] ? 0 : -1;
}

static int learn_all(struct database *database)
{
	int number;

	for (int mode = 0; mode < MODES; mode++)
		if (learn(database, mode))
			return -1;
	number = atoi(database->modes[MODE_SYNCHRONOUS]);
	free(database->modes[MODE_SYNCHRONOUS]);
	database->modes[MODE_SYNCHRONOUS] =
		text("%s", synchronous_names[number & 3]);
	return 0;
}

static int refuse(const struct database *database, enum mode mode,
		  const char *asked)
{
	const char *told = database->modes[mode];

	if (!strcmp(told, asked))
		return 0;
	return fail("SQLite did not take %s %s: it is %s", mode_names[mode],
		    asked, told);
}

/* Fail if a mode is another than the one that was asked for. */
static int refuse_others(const struct database *database)
{
	const struct request *request = database->request;
	char *page_size = text("%llu", (unsigned long long)request->page_size);
	int error = refuse(database, MODE_JOURNAL, request->journal) ||
		    refuse(database, MODE_SYNCHRONOUS, request->synchronous) ||
		    refuse(database, MODE_LOCKING, request->locking) ||
		    refuse(database, MODE_PAGE_SIZE, page_size);

	free(page_size);
	return error ? -1 : 0;
}

/* Locking comes first: a WAL is opened by it, and other modes open the file. */
static int set_modes(struct database *database)
{
	const struct request *request = database->request;

	if (set(database, "locking_mode", request->locking) ||
	    set_count(database, "page_size", (long long)request->page_size) ||
	    set_count(database, "cache_size", -(long long)request->cache_kib) ||
	    set_count(database, "mmap_size", (long long)request->mmap_bytes) ||
	    set(database, "journal_mode", request->journal) ||
	    set(database, "synchronous", request->synchronous) ||
	    set_count(database, "wal_autocheckpoint",
		      (long long)request->checkpoint))
		return -1;
	return learn_all(database) || refuse_others(database) ? -1 : 0;
}

static int open_file(struct database *database, const struct request *request)
{
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;

	database->request = request;
	database->path = text("%s/" DATABASE_NAME, request->folder);
	if (sqlite3_open_v2(database->path, &database->db, flags, NULL))
		return complain(database->db, database->path);
	return 0;
}

int database_open(struct database *database, const struct request *request)
{
	return open_file(database, request) || set_modes(database) ? -1 : 0;
}

static int prepare(struct database *database, const char *sql,
		   sqlite3_stmt **stmt)
{
	unsigned int flags = SQLITE_PREPARE_PERSISTENT;

	if (sqlite3_prepare_v3(database->db, sql, -1, flags, stmt, NULL))
		return complain(database->db, sql);
	return 0;
}

int database_prepare_statement(struct database *database, enum statement which)
{
	char *sql = rows_sql(which);
	int error;

	sqlite3_finalize(database->statements[which]);
	error = prepare(database, sql, &database->statements[which]);
	free(sql);
	return error;
}

int database_prepare(struct database *database)
{
	for (int i = 0; i < STATEMENTS; i++)
		if (database_prepare_statement(database, i))
			return -1;
	return prepare(database, "BEGIN", &database->begin) ||
			       prepare(database, "COMMIT", &database->commit)
		       ? -1
		       : 0;
}

int database_close(struct database *database)
{
	int error = 0;

	for (int i = 0; i < STATEMENTS; i++)
		sqlite3_finalize(database->statements[i]);
	memset(database->statements, 0, sizeof(database->statements));
	sqlite3_finalize(database->begin);
	sqlite3_finalize(database->commit);
	database->begin = database->commit = NULL;
	if (sqlite3_close(database->db))
		error = complain(database->db, "closing the database");
	database->db = NULL;
	free(database->path);
	database->path = NULL;
	return error;
}

void database_forget(struct database *database)
{
	for (int mode = 0; mode < MODES; mode++) {
		free(database->modes[mode]);
		database->modes[mode] = NULL;
	}
}

/* So many rows in one transaction. */
static int insert_rows(struct database *database, struct rows *rows,
		       uint64_t count)
{
	sqlite3_stmt *insert = database->statements[ST_INSERT];

	if (database_step(database, database->begin) < 0)
		return -1;
	for (uint64_t i = 0; i < count; i++) {
		rows_bind(rows, insert, ST_INSERT, rows_take(rows, ST_INSERT));
		if (database_step(database, insert) < 0)
			return -1;
	}
	return database_step(database, database->commit) < 0 ? -1 : 0;
}

/* All rows, in one transaction or in several. */
static int fill(struct database *database, struct rows *rows)
{
	const struct request *request = database->request;
	uint64_t most = request->create_commit;

	for (uint64_t left = request->rows; left;) {
		uint64_t count = most && most < left ? most : left;

		if (insert_rows(database, rows, count))
			return -1;
		left -= count;
	}
	return 0;
}

int database_create(struct database *database, const struct request *request,
		    struct rows *rows)
{
	char *sql = rows_table();
	int error = database_open(database, request) ||
		    database_do(database, sql) || database_prepare(database) ||
		    fill(database, rows);

	free(sql);
	return database_close(database) || error ? -1 : 0;
}

/* Open it so that no file system is asked for more than plain files. */
static int open_alone(struct database *database, const struct request *request)
{
	return open_file(database, request) ||
			       set(database, "locking_mode", "exclusive")
		       ? -1
		       : 0;
}

int database_check(struct database *database, const struct request *request,
		   uint64_t rows)
{
	unsigned long long wanted = rows;
	char *whole = NULL, *count = NULL;
	int error = open_alone(database, request);

	if (!error) {
		whole = database_ask(database, "PRAGMA integrity_check(1)");
		count = database_ask(database, "SELECT count(*) FROM contacts");
	}
	if (whole && strcmp(whole, "ok"))
		error = fail("the database is damaged: integrity_check says %s",
			     whole);
	if (count && strtoull(count, NULL, 10) != wanted)
		error = fail("the table has %s rows and should have %llu",
			     count, wanted);
	error |= whole && count ? 0 : -1;
	free(whole);
	free(count);
	return database_close(database) || error ? -1 : 0;
}
