/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A way to tear an operation: what a power cut in the midst of a program or an
 * erase leaves. Each is a file of this folder, NAME.c, with a table
 * torn_way_NAME. Kbuild lists them, and the host reads the texts and numbers of
 * the tables: no other file names a way that is added.
 */
#ifndef POWERCUT_WAY_H
#define POWERCUT_WAY_H

#include "array.h"
#include "journal.h"
#include "prng.h"

/* Which operations a way tears. */
enum torn_operations {
	TEARS_NOTHING = 0, /* the operation did not begin */
	TEARS_PROGRAMS = 1,
	TEARS_BOTH = 3, /* programs and erases */
};

/* A draw for each purpose: the same for all ways, so that a seed draws alike.
 */
enum draw { DRAW_HOW, DRAW_BITS, DRAW_READS, DRAW_WEAK, DRAW_WHERE };

/* An operation that is torn. */
struct tear {
	struct journal *journal;
	const struct journal_entry *entry;
	u64 seed;
	const u8 *before; /* a program's page, as it was; NULL: an erase */
};

struct torn_way {
	/* As it is named in commands: the name of its file. At most 15 letters.
	 */
	const char *name;

	/* What it leaves of a page that is programmed, and of a block that is
	 * erased; NULL where it tears none. */
	const char *page;
	const char *block;

	enum torn_operations tears;

	/* Its place in lists: smaller ones come first, 0 last. */
	unsigned int order;

	/* Whether a campaign tears so unless it is told which ways. */
	bool usual;

	/* Whether cells read one time so and one time so: what such a chip
	 * shows alone are classes of their own. */
	bool unstable;

	/* Clear in done, a byte for each of the page, the bits that a program
	 * of this row has not got to. NULL: it has got to all. */
	void (*program)(const struct tear *tear, u32 row, u8 *done);

	/* Set in the cells of a page the bits that an erase has got to. NULL:
	 * it has got to all, of all pages. */
	void (*erase)(const struct tear *tear, u32 row, u8 *cells);

	/* What else is so, once cells and states are as they were left; NULL:
	 * nothing. 0 or an errno. */
	int (*after)(const struct tear *tear);
};

/* All ways; NULL ends the list. */
extern const struct torn_way *const torn_ways[];

/* NULL: there is none of this name. */
const struct torn_way *torn_way(const char *name);

static inline u64 draw(u64 seed, enum draw what, u64 n)
{
	return prng(seed, PRNG_TEAR_BITS, what, n);
}

/* Bits that are each 1 with a probability of chance / 256. */
static inline u8 draw_bits(u64 seed, enum draw what, u64 n, u32 chance)
{
	u64 random = draw(seed, what, n);
	u8 bits = 0;
	int bit;

	for (bit = 0; bit < 8; bit++)
		if ((u8)(random >> 8 * bit) < chance)
			bits |= 1 << bit;
	return bits;
}

#endif
