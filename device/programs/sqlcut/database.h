/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the load, its play and its judge share: SQL that is done, and a digest
 * of all that a database holds. */
#ifndef SQLCUT_DATABASE_H
#define SQLCUT_DATABASE_H

#include <sqlite3.h>
#include <stdint.h>

/* Do all statements of a line. The first column of the last row goes to told,
 * if any. SQLite's code. */
int database_do(sqlite3 *db, const char *sql, char *told, size_t bytes);

/* Of all rows of all tables. SQLite's code. */
int database_digest(sqlite3 *db, uint64_t *digest);

#endif
