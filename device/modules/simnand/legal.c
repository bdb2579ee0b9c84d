// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Programs of pages that are not erased: those that a data sheet forbids, and
 * those that plant errors on purpose. Costs a look at each byte of a page that
 * has been programmed since its erase; nothing for other pages.
 */
#include "array.h"

/* A raw program that clears at most this many bits of a page with data plants
 * errors, as nandbiterrs does; one that clears more is a write. */
#define PLANTED_BITS_MAX 64

/*
 * A byte of 0xff leaves its cells alone; any other is meant to be read back. A
 * program of spare bytes alone is an exception: it sets a mark beside others,
 * as YAFFS1 does to delete a page, and its 1 bits mean "leave as it is".
 */
static bool wants_set_bits(struct chip *chip)
{
	const u8 *cells;
	u32 i = 0;

	if (!chip->state[chip->row] || (chip->oob_loaded && !chip->data_loaded))
		return false;
	cells = cells_of(chip, chip->row);
	/* most programs of a page that is not erased are beside what it holds
	 */
	for (; i + sizeof(u64) <= chip->page_bytes; i += sizeof(u64))
		if (load_word(chip->reg + i) != ~0ULL &&
		    load_word(chip->reg + i) & ~load_word(cells + i))
			break;
	for (; i < chip->page_bytes; i++)
		if (chip->reg[i] != 0xff && chip->reg[i] & ~cells[i])
			return true;
	return false;
}

bool check_program(struct chip *chip, bool *overwrites)
{
	u64 before = chip->counts.illegal;
	u32 page = chip->row % chip->pages_per_block;

	*overwrites = false;
	if (block_of(chip, chip->row)->flags & CHIP_WORN_OUT)
		return false; /* it still takes a bad block marker alone */
	if ((chip->state[chip->row] & PAGE_PROGRAMS) >= chip->params.nop)
		chip_misuse(chip, CHIP_TOO_MANY_PROGRAMS);
	if (chip->params.in_order && page + 1 < block_of(chip, chip->row)->high)
		chip_misuse(chip, CHIP_OUT_OF_ORDER);
	*overwrites = wants_set_bits(chip);
	if (*overwrites)
		chip_misuse(chip, CHIP_NOT_ERASED);
	return chip->counts.illegal != before;
}

static u32 cleared_bits(const u8 *cells, const u8 *wanted, u32 bytes)
{
	u32 count = 0, i;

	for (i = 0; i < bytes; i++)
		count += shim_weight8(cells[i] & ~wanted[i]);
	return count;
}

bool plant_errors(struct chip *chip, const u8 *cells)
{
	u32 bits = 8 * chip->params.writesize, i, count;

	if (!chip->raw || !(chip->state[chip->row] & PAGE_HAS_DATA))
		return false;
	count = cleared_bits(cells, chip->reg, chip->params.writesize);
	if (!count || count > PLANTED_BITS_MAX ||
	    count > STORED_FLIPS_MAX - chip->faults.stored_count)
		return false;
	for (i = 0; i < bits; i++)
		if (cells[i / 8] & ~chip->reg[i / 8] & 1 << i % 8 &&
		    !fault_bit_is_flipped(chip, chip->row, i))
			fault_flip_bit(chip, chip->row, i);
	return true;
}
