// SPDX-License-Identifier: GPL-2.0-or-later
#include "way.h"

/* Reads of an unstable page that are still right: 1 to so many. */
#define STABLE_READS 8

static int watch_unstable(const struct tear *tear)
{
	struct journal *journal = tear->journal;
	u32 first = tear->entry->first;
	bool block = !tear->before;
	u32 most = block ? STABLE_READS * journal->chip->pages_per_block
			 : STABLE_READS;

	journal->unstable = (struct journal_unstable){
		.on = true,
		.block = block,
		.first = first,
		.reads_left =
			1 +
			prng_below(draw(tear->seed, DRAW_READS, first), most),
		.seed = tear->seed,
	};
	return 0;
}

const struct torn_way torn_way_unstable = {
	.name = "unstable",
	.page = "looks complete, reads right 1 to 8 times, then wrong",
	.block = "looks erased, reads right a few times, then wrong",
	.tears = TEARS_BOTH,
	.order = 5,
	.usual = true,
	.unstable = true,
	.after = watch_unstable,
};
