// SPDX-License-Identifier: GPL-2.0-or-later
/* Torn programs and erases: see torn.h. Costs a few draws for each byte. */
#include "torn.h"

/* Kbuild: WAY(NAME) for each file of ways/. */
#define WAY(name) extern const struct torn_way torn_way_##name;
TORN_WAYS
#undef WAY
#define WAY(name) &torn_way_##name,
const struct torn_way *const torn_ways[] = {TORN_WAYS NULL};
#undef WAY

/* How a check's erase is torn where the way tears none: whoever cuts a check
 * need not know which of its operations are erases. */
#define ERASE_OF_CHECK "subset"

const struct torn_way *torn_way(const char *name)
{
	const struct torn_way *const *way = torn_ways;

	while (*way && strcmp((*way)->name, name))
		way++;
	return *way;
}

/* Clear in the cells what the program has got to (done) of the bits that it
 * wanted to clear, and tell how many it did and how many are left. */
static void clear_bits(u32 bytes, u8 *cells, const u8 *wanted, const u8 *done,
		       u32 *cleared, u32 *left)
{
	u32 i;

	*cleared = 0;
	*left = 0;
	for (i = 0; i < bytes; i++) {
		u8 to_clear = cells[i] & ~wanted[i];

		*cleared += shim_weight8(to_clear & done[i]);
		*left += shim_weight8(to_clear & ~done[i]);
		cells[i] &= wanted[i] | (u8)~done[i];
	}
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

/* What a program is to bring, and room for two pages. */
struct goal {
	const u8 *cells;
	u16 state;
	u8 *before, *done;
};

/* -ENOSPC: no memory for the cells. */
static int tear_program(const struct torn_way *way, struct tear *tear,
			const struct goal *goal)
{
	const struct journal_entry *entry = tear->entry;
	struct chip *chip = tear->journal->chip;
	struct chip_block *block = block_of(chip, entry->first);
	u8 *cells = cells_of(chip, entry->first);
	u32 cleared, left;

	if (!cells)
		return -ENOSPC;
	if (!chip->state[entry->first])
		memset(cells, 0xff, chip->page_bytes);
	memcpy(goal->before, cells, chip->page_bytes);
	tear->before = goal->before;
	memset(goal->done, 0xff, chip->page_bytes);
	if (way->program)
		way->program(tear, entry->first, goal->done);
	clear_bits(chip->page_bytes, cells, goal->cells, goal->done, &cleared,
		   &left);
	if (left && !cleared)
		return 0; /* the page is as it was */
	chip->state[entry->first] =
		left ? goal->state | PAGE_GARBLED : goal->state;
	block->data_pages = entry->after.data_pages;
	block->high = entry->after.high;
	return way->after ? way->after(tear) : 0;
}

static int tear_erase(const struct torn_way *way, struct tear *tear)
{
	const struct journal_entry *entry = tear->entry;
	struct chip *chip = tear->journal->chip;
	struct chip_block *block = block_of(chip, entry->first);
	u32 page;

	for (page = entry->first; page < entry->first + entry->pages; page++) {
		if (!way->erase) {
			chip->state[page] = 0;
		} else if (chip->state[page]) {
			way->erase(tear, page, cells_of(chip, page));
			chip->state[page] |= PAGE_GARBLED;
		}
	}
	if (!way->erase) {
		faults_forget_block(chip, entry->first / chip->pages_per_block);
		block->data_pages = 0;
		block->high = 0;
		block->disturb = 0;
	}
	return way->after ? way->after(tear) : 0;
}

int torn_next(struct journal *journal, bool of_check,
	      const struct torn_way *way, u64 seed)
{
	const struct journal_entry *next = journal_next(journal, of_check);
	u32 bytes = journal->chip->page_bytes;
	struct journal_entry entry;
	struct tear tear = {.journal = journal, .entry = &entry, .seed = seed};
	struct goal goal = {0};
	const u8 *after = NULL;
	u8 *room;
	int err = 0;

	if (!way)
		return -EINVAL;
	if (way->tears == TEARS_NOTHING)
		return 0;
	if (!next)
		return -EINVAL;
	if (next->kind == JOURNAL_ERASE && way->tears == TEARS_PROGRAMS) {
		way = of_check ? torn_way(ERASE_OF_CHECK) : NULL;
		if (!way)
			return -EINVAL;
	}
	entry = *next; /* the journal overwrites what it undid of a check */
	room = shim_zalloc(3 * bytes);
	if (!room)
		return -ENOSPC;
	goal.cells = room;
	goal.before = room + bytes;
	goal.done = room + 2 * bytes;
	if (entry.kind != JOURNAL_ERASE)
		after = journal_after(journal, next, &goal.state);
	if (after)
		memcpy(room, after, bytes);
	if (!journal_begin(journal, entry.first, entry.pages))
		err = -ENOSPC;
	else if (entry.kind == JOURNAL_ERASE)
		err = tear_erase(way, &tear);
	else if (after)
		err = tear_program(way, &tear, &goal);
	if (!err) {
		counted(journal->chip, &entry);
		journal_end(journal, entry.kind);
	}
	shim_free(room);
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
			draw_bits(seed, DRAW_WEAK, (u64)chip->row << 32 | i, 8);

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
