/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a power cut in the midst of a program or an erase leaves. Seeded: the
 * same chip, operation, way and seed give the same cells, and another page
 * is torn another way.
 *
 * A program only clears bits, so no way sets one: a torn page lies between
 * what was there and what was to be. An erase only sets bits. The page is for
 * the ECC engine what the cells say: if each cell has its end value it is good,
 * if none has changed it is as it was, if a few bits are missing they are wrong
 * bits that it may correct; else no code corrects it. A page is one piece here:
 * a torn second program of a page spoils the whole of it.
 */
#ifndef POWERCUT_TORN_H
#define POWERCUT_TORN_H

#include "journal.h"
#include "ways/way.h"

/* Tear the next operation, of the recording or of the check. A way that tears
 * no erase tears one of a check as subset. -EINVAL: there is no such way or no
 * next operation, or the way does not tear it; -ENOSPC. */
int torn_next(struct journal *journal, bool of_check,
	      const struct torn_way *way, u64 seed);

/* What an array read finds in the register if its page is unstable. */
void unstable_read(struct journal *journal);

#endif
