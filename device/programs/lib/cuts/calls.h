/* SPDX-License-Identifier: GPL-2.0-or-later */
/* System calls of a load that play.c has not itself; -1 after a message. Where
 * a file system takes one and keeps nothing of it, that is EOPNOTSUPP. */
#ifndef LIB_CUTS_CALLS_H
#define LIB_CUTS_CALLS_H

#include "cuts/cuts.h"

/* Metadata of an open file or folder, or its room. */
int cuts_play_set(const struct load *load, int op, int fd, const char *path);

/* beside.c: begin a sync beside the load, or wait for it; the same if one has
 * begun. */
int cuts_play_beside(const struct op *op);
int cuts_beside_end(void);

/* collector.c: wake the collector. Where a file system has none that a signal
 * wakes, that is EOPNOTSUPP. */
int cuts_play_wakegc(const struct op *op);

/* A file without a name in the folder of a path; a name for one. */
int cuts_open_nameless(const char *path);
int cuts_play_linkat(int fd, const char *path);

/* Names, and what is on no name. */
int cuts_play_name(const struct load *load, int op, const char *path,
		   const char *to);

#endif
