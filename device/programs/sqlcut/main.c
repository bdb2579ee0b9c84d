// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sqlcut: cuts the power at each flash operation of loads of SQL.
 *
 * It is cutcheck with an oracle of its own: a line of a load is a transaction,
 * or several statements, and counts as kept once it returned. After a cut the
 * database must pass SQLite's integrity_check and hold just what it held after
 * one of the lines: none before the last that had returned, none after the last
 * that had begun. A database and its journal are SQLite's to change, so no file
 * is made longer. Needs SQLite (needs.toml).
 */
#include "cuts/campaign.h"
#include "sqlcut.h"

static const struct oracle sql = {
	.read = sql_read,
	.free = sql_free,
	.play = sql_play,
	.play_end = sql_play_end,
	.judge = sql_judge,
	.look = sql_look,
};

int main(int argc, char **argv)
{
	(void)argc;
	return cuts_main(argv,
			 "Cuts the power at each flash operation of loads of "
			 "SQL.",
			 &sql, cuts_points);
}
