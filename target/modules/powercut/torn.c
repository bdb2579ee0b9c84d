// SPDX-License-Identifier: GPL-2.0-or-later
/* Torn programs and erases: see torn.h. Costs a few draws for each byte. */
#include "torn.h"
#include "array.h"
#include "prng.h"

const char *const torn_names[] = {"before", "prefix", "subset", "done",
				  "unstable"};

/* Reads of an unstable page that are still right: 1 to so many. */
#define STABLE_READS 8

enum draw { DRAW_HOW, DRAW_BITS, DRAW_READS, DRAW_WEAK };

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
 * wanted to clear. True: all of them are. */
static bool clear_bits(const struct chip *chip, u8 *cells, const u8 *wanted,
		       enum torn_variant variant, u64 seed)
{
	u32 bytes = chip->page_bytes, upto = bytes, chance = 256, i;
	bool all = true;

	if (variant == TORN_PREFIX)
		upto = prng_below(draw(seed, DRAW_HOW, 0), bytes);
	if (variant == TORN_SUBSET)
		chance = 1 + prng_below(draw(seed, DRAW_HOW, 0), 255);
	for (i = 0; i < upto; i++) {
		u8 done = chance == 256 ? 0xff
					: some_bits(seed, DRAW_BITS, i, chance);

		cells[i] &= wanted[i] | (u8)~done;
	}
	for (i = 0; i < bytes; i++)
		all = all && !(cells[i] & ~wanted[i]);
	return all;
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
		.reads_left = 1 + prng_below(draw(seed, DRAW_READS, 0), most),
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

/* False: no memory for the cells. */
static bool tear_program(struct journal *journal,
			 const struct journal_entry *entry, const u8 *wanted,
			 u16 state, enum torn_variant variant, u64 seed)
{
	struct chip *chip = journal->chip;
	struct chip_block *block = block_of(chip, entry->first);
	u8 *cells = cells_of(chip, entry->first);

	if (!cells)
		return false;
	if (!chip->state[entry->first])
		memset(cells, 0xff, chip->page_bytes);
	if (!clear_bits(chip, cells, wanted, variant, seed))
		state |= PAGE_GARBLED;
	chip->state[entry->first] = state;
	block->data_pages = entry->after.data_pages;
	block->high = entry->after.high;
	if (variant == TORN_UNSTABLE)
		watch_unstable(journal, entry->first, false, seed);
	return true;
}

static void tear_erase(struct journal *journal,
		       const struct journal_entry *entry,
		       enum torn_variant variant, u64 seed)
{
	struct chip *chip = journal->chip;
	struct chip_block *block = block_of(chip, entry->first);
	u32 chance = 1 + prng_below(draw(seed, DRAW_HOW, 0), 255);
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
	if (!next || variant >= TORN_VARIANTS ||
	    (next->kind == JOURNAL_ERASE && variant == TORN_PREFIX))
		return -EINVAL;
	entry = *next; /* the journal overwrites what it undid of a check */
	wanted = shim_zalloc(bytes);
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
	} else if (after && !tear_program(journal, &entry, wanted, state,
					  variant, seed)) {
		err = -ENOSPC;
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
