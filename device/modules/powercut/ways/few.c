// SPDX-License-Identifier: GPL-2.0-or-later
#include "way.h"

/* Bits that a program has still to clear: 1 to so many, of so many bytes, which
 * are a step of most ECC engines. */
#define FEW_BITS  8
#define FEW_BYTES 512

/* Of a stretch of the page some bits that the program cleared read 1 yet. */
static int miss_few(const struct tear *tear)
{
	struct chip *chip = tear->journal->chip;
	u32 row = tear->entry->first;
	const u8 *cells = cells_of(chip, row);
	u32 steps = chip->params.writesize / FEW_BYTES, bits = 8 * FEW_BYTES;
	u32 first = bits * prng_below(draw(tear->seed, DRAW_WHERE, row), steps);
	u32 from = prng_below(draw(tear->seed, DRAW_BITS, row), bits);
	u32 few = 1 + prng_below(draw(tear->seed, DRAW_HOW, row), FEW_BITS);
	u32 i, bit;
	int err;

	for (i = 0; i < bits && few; i++) {
		bit = first + (from + i * 1021) % bits; /* each once */
		if (!((tear->before[bit / 8] & ~cells[bit / 8]) >> bit % 8 & 1))
			continue;
		err = fault_flip_bit(chip, row, bit);
		if (err)
			return err;
		few--;
	}
	return 0;
}

const struct torn_way torn_way_few = {
	.name = "few",
	.page = "1 to 8 bits of 512 bytes are missing",
	.tears = TEARS_PROGRAMS,
	.order = 4,
	.usual = true,
	.after = miss_few,
};
