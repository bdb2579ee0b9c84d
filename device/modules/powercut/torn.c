// SPDX-License-Identifier: GPL-2.0-or-later
/* Torn programs and erases: see torn.h. Costs a few draws for each byte. */
#include "torn.h"
#include "array.h"
#include "prng.h"

const char *const torn_names[] = {"before", "prefix",	"subset",
				  "done",   "unstable", "few"};

/* Reads of an unstable page that are still right: 1 to so many. */
#define STABLE_READS 8

/* Bits that a program has still to clear: 1 to so many, of so many bytes, which
 * are a step of most ECC engines. */
#define FEW_BITS  8
#define FEW_BYTES 512

enum draw { DRAW_HOW, DRAW_BITS, DRAW_READS, DRAW_WEAK, DRAW_WHERE };

static u64 draw(u64 seed, enum draw what, u64 n)
{
	return prng(seed, PRNG_TEAR_BITS, what, n);
}

/* Bits that are each 1 with a probability of chance / 256. */
static u8 some_bits(u64 seed, enum draw what, u64 n, u32 chance)
{
	u64 random = draw(seed, what, n);
	u8 bits = 0;
	int bit;

	for (bit = 0; bit < 8; bit++)
		if ((u8)(random >> 8 * bit) < chance)
			bits |= 1 << bit;
	return bits;
}

/* Clear in the cells what the variant has got to of the bits that the program
 * wanted to clear, and tell how many it did and how many are left. */
static void clear_bits(const struct chip *chip, u32 row, u8 *cells,
		       const u8 *wanted, enum torn_variant variant, u64 seed,
		       u32 *cleared, u32 *left)
{
	u32 bytes = chip->page_bytes, upto = bytes, chance = 256, i;

	if (variant == TORN_PREFIX)
		upto = prng_below(draw(seed, DRAW_HOW, row), bytes);
	if (variant == TORN_SUBSET)
		chance = 1 + prng_below(draw(seed, DRAW_HOW, row), 255);
	*cleared = 0;
	*left = 0;
	for (i = 0; i < bytes; i++) {
		u8 to_clear = cells[i] & ~wanted[i], done = i < upto ? 0xff : 0;

		if (chance != 256)
			done = some_bits(seed, DRAW_BITS, (u64)row << 32 | i,
					 chance);
		*cleared += shim_weight8(to_clear & done);
		*left += shim_weight8(to_clear & ~done);
		cells[i] &= wanted[i] | (u8)~done;
	}
}

/* Of a stretch of the page some bits that the program cleared read 1 yet. */
static int miss_few(struct chip *chip, u32 row, const u8 *before, u64 seed)
{
	const u8 *cells = cells_of(chip, row);
	u32 steps = chip->params.writesize / FEW_BYTES, bits = 8 * FEW_BYTES;
	u32 first = bits * prng_below(draw(seed, DRAW_WHERE, row), steps);
	u32 from = prng_below(draw(seed, DRAW_BITS, row), bits);
	u32 few = 1 + prng_below(draw(seed, DRAW_HOW, row), FEW_BITS), i, bit;
	int err;

	for (i = 0; i < bits && few; i++) {
		bit = first + (from + i * 1021) % bits; /* each once */
		if (!((before[bit / 8] & ~cells[bit / 8]) >> bit % 8 & 1))
			continue;
		err = fault_flip_bit(chip, row, bit);
		if (err)
			return err;
		few--;
	}
	return 0;
}

static void watch_unstable(struct journal *journal, u32 first, bool block,
			   u64 seed)
{
	u32 most = block ? STABLE_READS * journal->chip->pages_per_block
			 : STABLE_READS;

	journal->unstable = (struct journal_unstable){
		.on = true,
		.block = block,
		.first = first,
		.reads_left =
			1 + prng_below(draw(seed, DRAW_READS, first), most),
		.seed = seed,
	};
}

/* The chip's counts after the operation, which began if power was there. */
static void counted(struct chip *chip, const struct journal_entry *entry)
{
	struct chip_block *block = block_of(chip, entry->first);

	chip->op_seq = entry->after.op_seq;
	chip->faults.programs = entry->after.programs;
	chip->faults.erases = entry->after.erases;
	block->wear = entry->after.wear;
}

/* scratch: room for a page. -ENOSPC: no memory for the cells. */
static int tear_program(struct journal *journal,
			const struct journal_entry *entry, const u8 *wanted,
			u16 state, enum torn_variant variant, u64 seed,
			u8 *scratch)
{
	struct chip *chip = journal->chip;
	struct chip_block *block = block_of(chip, entry->first);
	u8 *cells = cells_of(chip, entry->first);
	u32 cleared, left;

	if (!cells)
		return -ENOSPC;
	if (!chip->state[entry->first])
		memset(cells, 0xff, chip->page_bytes);
	memcpy(scratch, cells, chip->page_bytes);
	clear_bits(chip, entry->first, cells, wanted, variant, seed, &cleared,
		   &left);
	if (left && !cleared)
		return 0; /* the page is as it was */
	chip->state[entry->first] = left ? state | PAGE_GARBLED : state;
	block->data_pages = entry->after.data_pages;
	block->high = entry->after.high;
	if (variant == TORN_UNSTABLE)
		watch_unstable(journal, entry->first, false, seed);
	if (variant == TORN_FEW)
		return miss_few(chip, entry->first, scratch, seed);
	return 0;
}

static void tear_erase(struct journal *journal,
		       const struct journal_entry *entry,
		       enum torn_variant variant, u64 seed)
{
	struct chip *chip = journal->chip;
	struct chip_block *block = block_of(chip, entry->first);
	u32 chance = 1 + prng_below(draw(seed, DRAW_HOW, entry->first), 255);
	u32 page, i;
	u8 *cells;

	for (page = entry->first; page < entry->first + entry->pages; page++) {
		if (variant != TORN_SUBSET) {
			chip->state[page] = 0;
			continue;
		}
		if (!chip->state[page])
			continue;
		cells = cells_of(chip, page);
		for (i = 0; i < chip->page_bytes; i++)
			cells[i] |= some_bits(seed, DRAW_BITS,
					      (u64)page << 32 | i, chance);
		chip->state[page] |= PAGE_GARBLED;
	}
	if (variant == TORN_SUBSET)
		return;
	faults_forget_block(chip, entry->first / chip->pages_per_block);
	block->data_pages = 0;
	block->high = 0;
	block->disturb = 0;
	if (variant == TORN_UNSTABLE)
		watch_unstable(journal, entry->first, true, seed);
}

int torn_next(struct journal *journal, bool of_check, enum torn_variant variant,
	      u64 seed)
{
	const struct journal_entry *next = journal_next(journal, of_check);
	u32 bytes = journal->chip->page_bytes;
	struct journal_entry entry;
	const u8 *after = NULL;
	u16 state = 0;
	u8 *wanted;
	int err = 0;

	if (variant == TORN_BEFORE)
		return 0;
	if (!next || variant >= TORN_VARIANTS)
		return -EINVAL;
	if (next->kind == JOURNAL_ERASE &&
	    (variant == TORN_PREFIX || variant == TORN_FEW)) {
		if (!of_check)
			return -EINVAL;
		variant = TORN_SUBSET;
	}
	entry = *next; /* the journal overwrites what it undid of a check */
	wanted = shim_zalloc(2 * bytes);
	if (!wanted)
		return -ENOSPC;
	if (entry.kind != JOURNAL_ERASE)
		after = journal_after(journal, next, &state);
	if (after)
		memcpy(wanted, after, bytes);
	if (!journal_begin(journal, entry.first, entry.pages)) {
		err = -ENOSPC;
	} else if (entry.kind == JOURNAL_ERASE) {
		tear_erase(journal, &entry, variant, seed);
	} else if (after) {
		err = tear_program(journal, &entry, wanted, state, variant,
				   seed, wanted + bytes);
	}
	if (!err) {
		counted(journal->chip, &entry);
		journal_end(journal, entry.kind);
	}
	shim_free(wanted);
	return err;
}

/* Of an erased page some bits read 0; of a programmed one some that a program
 * cleared read 1. The bad block marker reads right, as drivers take a majority
 * of its bits. */
static void misread(struct chip *chip, u64 seed)
{
	u32 marker = chip->params.writesize + (small_page(chip) ? 5 : 0);
	bool erased = !chip->state[chip->row];
	u32 i;

	for (i = 0; i < chip->page_bytes; i++) {
		u8 weak =
			some_bits(seed, DRAW_WEAK, (u64)chip->row << 32 | i, 8);

		if (i == marker || (!small_page(chip) && i == marker + 1))
			continue;
		if (erased)
			chip->reg[i] &= ~weak;
		else
			chip->reg[i] |= weak;
	}
	chip->flips.garbled = true;
}

void unstable_read(struct journal *journal)
{
	struct journal_unstable *unstable = &journal->unstable;
	struct chip *chip = journal->chip;
	u32 pages = unstable->block ? chip->pages_per_block : 1;

	if (!unstable->on || chip->row < unstable->first ||
	    chip->row >= unstable->first + pages)
		return;
	if (unstable->reads_left)
		unstable->reads_left--;
	else
		misread(chip, unstable->seed);
}
