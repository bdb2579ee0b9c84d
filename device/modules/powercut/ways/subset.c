// SPDX-License-Identifier: GPL-2.0-or-later
#include "way.h"

static u32 chance_of_bit(const struct tear *tear)
{
	return 1 +
	       prng_below(draw(tear->seed, DRAW_HOW, tear->entry->first), 255);
}

static u8 pick_bits(const struct tear *tear, u32 row, u32 i, u32 chance)
{
	return draw_bits(tear->seed, DRAW_BITS, (u64)row << 32 | i, chance);
}

static void leave_subset(const struct tear *tear, u32 row, u8 *done)
{
	u32 i, chance = chance_of_bit(tear);

	for (i = 0; i < tear->journal->chip->page_bytes; i++)
		done[i] = pick_bits(tear, row, i, chance);
}

static void erase_subset(const struct tear *tear, u32 row, u8 *cells)
{
	u32 i, chance = chance_of_bit(tear);

	for (i = 0; i < tear->journal->chip->page_bytes; i++)
		cells[i] |= pick_bits(tear, row, i, chance);
}

const struct torn_way torn_way_subset = {
	.name = "subset",
	.page = "any of the bits are done",
	.block = "any of the bits are done",
	.tears = TEARS_BOTH,
	.order = 3,
	.usual = true,
	.program = leave_subset,
	.erase = erase_subset,
};
