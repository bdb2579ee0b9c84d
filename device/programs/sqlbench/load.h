/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The two loads: transactions on one connection, and runs of selects. */
#ifndef SQLBENCH_LOAD_H
#define SQLBENCH_LOAD_H

#include "database.h"
#include "measure.h"
#include "rows.h"

/*
 * Opens the database, commits every transaction, closes it: the phases open,
 * run, close. Fails, with nothing run, if deletes would leave no row.
 */
int load_transactions(struct database *database, struct rows *rows,
		      struct measured *measured);

/* For each run: drop the kernel's caches, open anew, select, close. */
int load_selects(struct database *database, struct rows *rows,
		 struct measured *measured);

/* Learn whether the database is mapped; a doubt if it was to be and is not. */
int load_look_at_mmap(struct database *database, struct measured *measured);

#endif
