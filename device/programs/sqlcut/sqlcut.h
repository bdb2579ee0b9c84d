/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The oracle of SQL, in its parts: see struct oracle in cuts/cuts.h. */
#ifndef SQLCUT_H
#define SQLCUT_H

#include "cuts/cuts.h"

#define DATABASE MOUNTPOINT "/test.db"

/* load.c */
int sql_read(const char *path, int n, struct load *load);
void sql_free(struct load *load);

/* play.c */
int sql_play(const struct load *load, int op);
void sql_play_end(void);

/* judge.c */
void sql_judge(const struct load *load, uint32_t operations, bool in_next,
	       struct finding *finding, uint64_t *seen);
void sql_look(const struct load *load, struct finding *finding, uint64_t *seen);

#endif
