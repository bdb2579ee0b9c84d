/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The oracle's own: names are judged in judge.c, what files hold in content.c.
 */
#ifndef LIB_CUTS_JUDGE_H
#define LIB_CUTS_JUDGE_H

#include <sys/types.h>

#include "cuts/cuts.h"

/* A moment: the last operation that had begun, and the cut. */
struct moment {
	const struct load *load;
	uint32_t operations;
	int last;
	bool nothing_kept; /* ask for what ever was, whatever was synced */
};

/* What was read of a file. */
#define READ_BYTES_MAX (FILE_BYTES_MAX + EXTENDED_BYTES + 1)
extern uint8_t cuts_data[READ_BYTES_MAX];

/* extend.c: a file is at a name, with so many bytes: that is made longer. */
void extend_seen(int name, ino_t inode, size_t bytes);

/* extend.c: of so many bytes that were read of a name's file those that it had
 * before it was made longer; the others must be 0. */
size_t extended_had(const struct load *load, int name, size_t had,
		    struct finding *finding);

/* Whether the bytes in data are what an inode may have, if what it was after an
 * operation was kept. NULL, or what is wrong. */
const char *judge_content(const struct moment *m, int inode, int from,
			  size_t had);

#endif
