/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The oracle of files, in its parts: see struct oracle in cuts.h. */
#ifndef LIB_CUTS_FILES_H
#define LIB_CUTS_FILES_H

#include "cuts/cuts.h"

/* load.c: names are traced through all operations. */
int cuts_files_read(const char *path, int n, struct load *load);
void cuts_files_free(struct load *load);

/* play.c: each operation is a system call. */
int cuts_files_play(const struct load *load, int op);
void cuts_files_play_end(void);

/* judge.c */
void cuts_files_judge(const struct load *load, uint32_t operations,
		      bool in_next, struct finding *finding, uint64_t *seen);
void cuts_files_look(const struct load *load, struct finding *finding,
		     uint64_t *seen);

#endif
