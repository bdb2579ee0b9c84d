/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sqlcut: cutcheck for SQLite. Its loads are SQL, its oracle is SQLite.
 *
 * It is cutcheck with a load, a play and a judge of its own: a line of a load
 * is a transaction, or several statements, and counts as kept once it returned.
 * After a cut the database must pass SQLite's integrity_check and hold just
 * what it held after one of the lines: none before the last that had returned,
 * none after the last that had begun. Needs SQLite (needs.toml).
 */
#ifndef SQLCUT_H
#define SQLCUT_H

#define DATABASE MOUNTPOINT "/test.db"

#endif
