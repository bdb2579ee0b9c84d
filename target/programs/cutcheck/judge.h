/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The oracle's own: names are judged in judge.c, what files hold in content.c.
 */
#ifndef CUTCHECK_JUDGE_H
#define CUTCHECK_JUDGE_H

#include "cutcheck.h"

/* A moment: the last operation that had begun, and the cut. */
struct moment {
	const struct load *load;
	uint32_t operations;
	int last;
};

/* What was read of a file. */
extern uint8_t data[FILE_BYTES_MAX + 1];

/* Whether the bytes in data are what an inode may have, if what it was after an
 * operation was kept. NULL, or what is wrong. */
const char *wrong_content(const struct moment *m, int inode, int from,
			  size_t had);

#endif
