/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a power cut in the midst of a program or an erase leaves. Seeded: the
 * same chip, operation, variant and seed give the same cells, and another page
 * is torn another way.
 *
 * A program only clears bits, so no variant sets one: a torn page lies between
 * what was there and what was to be. An erase only sets bits. The page is for
 * the ECC engine what the cells say: if each cell has its end value it is good,
 * if none has changed it is as it was, if a few bits are missing they are wrong
 * bits that it may correct; else no code corrects it. A page is one piece here:
 * a torn second program of a page spoils the whole of it.
 */
#ifndef POWERCUT_TORN_H
#define POWERCUT_TORN_H

#include "journal.h"

/* The numbers are part of what a point's name means. */
enum torn_variant {
	TORN_BEFORE,   /* nothing has changed yet */
	TORN_PREFIX,   /* a program: bytes up to some column are done */
	TORN_SUBSET,   /* any of the bits are done */
	TORN_DONE,     /* complete; the file system was not told */
	TORN_UNSTABLE, /* looks complete, reads right a few times, then wrong */
	TORN_FEW,      /* a program: some bits of 512 bytes are missing */
	TORN_VARIANTS,
};

/* Their names, by their numbers. */
extern const char *const torn_names[];

/* Tear the next operation, of the recording or of the check. An erase has no
 * prefix, and no few: a check's is then torn as subset. -EINVAL: there is no
 * next operation, or it has no such variant; -ENOSPC. */
int torn_next(struct journal *journal, bool of_check, enum torn_variant variant,
	      u64 seed);

/* What an array read finds in the register if its page is unstable. */
void unstable_read(struct journal *journal);

#endif
