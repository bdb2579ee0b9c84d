/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of a load, while it is read. */
#ifndef LIB_CUTS_NAMES_H
#define LIB_CUTS_NAMES_H

#include "cuts/cuts.h"

/* Room for one more than so many in a list; ends the program without it. */
void *cuts_grow(void *list, int count, size_t size);

/* A path's number; it is new if no operation has named it. */
int names_number(struct load *load, const char *path);

/* The inode of a name now; NONE: there is no such name. */
int names_now(const struct load *load, int name);

/* The operation that is read makes a name stand for an inode. */
void names_set(struct load *load, int name, int inode);

/* It gives an inode and all names below it another name. The old name stays,
 * for names_set(). */
void names_move(struct load *load, int from, int to);

/* It exchanges two names, and all names below them. */
void names_exchange(struct load *load, int name, int other);

#endif
