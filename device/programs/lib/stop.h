/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SIGINT and SIGTERM: noted, and acted on between two files, so that a command
 * tells what it did before it ends.
 */
#ifndef LIB_STOP_H
#define LIB_STOP_H

/* Note the signals from now on. */
void stop_watch(void);

/* The signal that came; 0: none. */
int stop_wanted(void);

#endif
