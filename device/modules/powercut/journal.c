// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Recording what operations change, and moving a chip along the record: see
 * journal.h. A side of an entry lies in memory as
 *
 *   flips x struct stored_flip
 *   pages x u16 state
 *   for each page whose state is not 0: its cells, spare area included
 */
#include "torn.h"
#include "array.h"
#include "once.h"

static struct journal *watching;

/* The names that decode.c calls instead of array_*(). */
void cut_read(struct chip *chip);
void cut_program(struct chip *chip);
void cut_erase(struct chip *chip);

static struct journal *watch(const struct chip *chip)
{
	if (watching && watching->chip == chip && watching->mode != JOURNAL_OFF)
		return watching;
	return NULL;
}

static struct journal_entry *entry_at(const struct journal *journal, u32 index)
{
	return (struct journal_entry *)(journal->memory + journal->bytes) -
	       (index + 1);
}

static u64 room(const struct journal *journal)
{
	u64 taken = journal->used +
		    (u64)journal->entries * sizeof(struct journal_entry);

	return journal->bytes - taken;
}

static bool put(struct journal *journal, const void *from, u64 bytes)
{
	if (room(journal) < bytes + sizeof(struct journal_entry))
		return false;
	memcpy(journal->memory + journal->used, from, bytes);
	journal->used += bytes;
	return true;
}

/* Save what the chip has in these pages, and of their block. */
static bool save(struct journal *journal, u32 first, u32 pages,
		 struct journal_side *side)
{
	struct chip *chip = journal->chip;
	const struct chip_block *block = block_of(chip, first);
	u32 page;

	*side = (struct journal_side){
		.op_seq = chip->op_seq,
		.programs = chip->faults.programs,
		.erases = chip->faults.erases,
		.wear = block->wear,
		.disturb = block->disturb,
		.flags = block->flags,
		.data_pages = block->data_pages,
		.high = block->high,
		.flips = chip->faults.stored_count,
		.at = journal->used,
	};
	if (!put(journal, chip->faults.stored,
		 side->flips * sizeof(struct stored_flip)) ||
	    !put(journal, &chip->state[first], pages * sizeof(u16)))
		return false;
	for (page = first; page < first + pages; page++)
		if (chip->state[page] &&
		    !put(journal, cells_of(chip, page), chip->page_bytes))
			return false;
	journal->used = (journal->used + 7) & ~7ULL;
	return true;
}

static const u8 *states_at(const struct journal *journal,
			   const struct journal_side *side)
{
	return journal->memory + side->at +
	       side->flips * sizeof(struct stored_flip);
}

/* Make the pages and their block what a side of an entry says. */
static void restore(struct journal *journal, const struct journal_entry *entry,
		    const struct journal_side *side)
{
	struct chip *chip = journal->chip;
	struct chip_block *block = block_of(chip, entry->first);
	const u8 *from = states_at(journal, side);
	u32 page;

	chip->op_seq = side->op_seq;
	chip->faults.programs = side->programs;
	chip->faults.erases = side->erases;
	block->wear = side->wear;
	block->disturb = side->disturb;
	block->flags = side->flags;
	block->data_pages = side->data_pages;
	block->high = side->high;
	chip->faults.stored_count = side->flips;
	memcpy(chip->faults.stored, journal->memory + side->at,
	       side->flips * sizeof(struct stored_flip));
	memcpy(&chip->state[entry->first], from, entry->pages * sizeof(u16));
	from += entry->pages * sizeof(u16);
	for (page = entry->first; page < entry->first + entry->pages; page++) {
		if (!chip->state[page])
			continue;
		memcpy(cells_of(chip, page), from, chip->page_bytes);
		from += chip->page_bytes;
	}
}

static void take_time(struct chip *chip, const struct journal_times *times)
{
	chip->params.t_r_ns = times->t_r_ns;
	chip->params.t_prog_ns = times->t_prog_ns;
	chip->params.t_bers_ns = times->t_bers_ns;
	chip->params.t_rc_ns = times->t_rc_ns;
	chip->params.t_wc_ns = times->t_wc_ns;
}

int journal_open(struct journal *journal, struct chip *chip, void *memory,
		 u64 bytes)
{
	u64 marks = JOURNAL_MARKS_MAX * sizeof(struct journal_mark);

	memset(journal, 0, sizeof(*journal));
	if (bytes < 2 * marks)
		return -ENOSPC;
	journal->chip = chip;
	journal->times = (struct journal_times){
		.t_r_ns = chip->params.t_r_ns,
		.t_prog_ns = chip->params.t_prog_ns,
		.t_bers_ns = chip->params.t_bers_ns,
		.t_rc_ns = chip->params.t_rc_ns,
		.t_wc_ns = chip->params.t_wc_ns,
	};
	journal->memory = memory;
	journal->bytes = bytes;
	journal->used = marks;
	watching = journal;
	return 0;
}

void journal_close(struct journal *journal)
{
	if (watching == journal)
		watching = NULL;
	take_time(journal->chip, &journal->times);
	journal->mode = JOURNAL_OFF;
}

bool journal_begin(struct journal *journal, u32 first, u32 pages)
{
	struct journal_entry *entry = entry_at(journal, journal->entries);

	if (journal->lost || room(journal) < sizeof(*entry)) {
		journal->lost++;
		return false;
	}
	journal->known = 0;
	entry->first = first;
	entry->pages = pages;
	if (save(journal, first, pages, &entry->before))
		return true;
	journal->lost++;
	return false;
}

void journal_end(struct journal *journal, enum journal_kind kind)
{
	struct journal_entry *entry = entry_at(journal, journal->entries);
	const u8 *from;

	entry->kind = kind;
	if (!save(journal, entry->first, entry->pages, &entry->after)) {
		journal->lost++;
		return;
	}
	journal->entries++;
	if (journal->mode == JOURNAL_RECORD) {
		from = states_at(journal, &entry->after);
		entry->crc = shim_crc32(0, from,
					journal->memory + journal->used - from);
		journal->recorded = journal->entries;
		journal->recorded_used = journal->used;
		journal->at = journal->entries;
	}
}

/* Whether the spare bytes just programmed are the bad block marker. */
static bool is_marker(struct chip *chip, u16 state_before)
{
	u32 at = chip->params.writesize + (small_page(chip) ? 5 : 0);

	return !state_before && cells_of(chip, chip->row)[at] != 0xff;
}

void cut_program(struct chip *chip)
{
	struct journal *journal = watch(chip);
	bool data = chip->data_loaded || !chip->oob_loaded;
	enum journal_kind kind = data ? JOURNAL_PROGRAM : JOURNAL_OOB_PROGRAM;
	u32 row = chip->row;
	u16 state = chip->state[row];
	bool noted;

	if (once_program_fails(chip))
		return;
	noted = journal && journal_begin(journal, row, 1);
	array_program(chip);
	if (!noted)
		return;
	if (!data && chip->state[row] && is_marker(chip, state))
		kind = JOURNAL_MARK_BAD;
	journal_end(journal, kind);
}

void cut_erase(struct chip *chip)
{
	struct journal *journal = watch(chip);
	u32 first = chip->row - chip->row % chip->pages_per_block;
	bool noted;

	if (once_erase_fails(chip))
		return;
	noted = journal && journal_begin(journal, first, chip->pages_per_block);
	if (journal && journal->unstable.on &&
	    block_of(chip, journal->unstable.first) == block_of(chip, first))
		journal->unstable.on = false;
	array_erase(chip);
	if (noted)
		journal_end(journal, JOURNAL_ERASE);
}

void cut_read(struct chip *chip)
{
	struct journal *journal = watch(chip);
	struct chip_block *block = block_of(chip, chip->row);
	u32 disturb = block->disturb;

	array_read(chip);
	if (!journal)
		return;
	block->disturb = disturb;
	unstable_read(journal);
}

/* Undo entries until so many are left. */
static void undo_to(struct journal *journal, u32 entries)
{
	const struct journal_entry *entry;

	journal->known = journal->entries;
	while (journal->entries > entries) {
		entry = entry_at(journal, --journal->entries);
		restore(journal, entry, &entry->before);
		journal->used = entry->before.at;
	}
	journal->unstable.on = false;
	chip_power(journal->chip,
		   false); /* the register is empty after a cut */
	chip_power(journal->chip, true);
}

int journal_goto(struct journal *journal, u32 operations)
{
	const struct journal_entry *entry;

	if (journal->lost)
		return -ENOSPC;
	if (journal->mode != JOURNAL_CHECK || operations > journal->recorded)
		return -EINVAL;
	undo_to(journal, journal->recorded);
	journal->used = journal->recorded_used;
	while (journal->at > operations) {
		entry = entry_at(journal, --journal->at);
		restore(journal, entry, &entry->before);
	}
	while (journal->at < operations) {
		entry = entry_at(journal, journal->at++);
		restore(journal, entry, &entry->after);
	}
	return 0;
}

int journal_back(struct journal *journal, u32 operations)
{
	if (journal->lost)
		return -ENOSPC;
	if (journal->mode != JOURNAL_CHECK ||
	    operations > journal->entries - journal->recorded)
		return -EINVAL;
	undo_to(journal, journal->recorded + operations);
	return 0;
}

int journal_record(struct journal *journal)
{
	int err = 0;

	if (journal->mode == JOURNAL_RECORD)
		err = journal_stop(journal);
	if (!err && journal->mode == JOURNAL_CHECK)
		err = journal_goto(journal, 0);
	if (err)
		return err;
	journal->used = JOURNAL_MARKS_MAX * sizeof(struct journal_mark);
	journal->recorded_used = journal->used;
	journal->entries = 0;
	journal->recorded = 0;
	journal->at = 0;
	journal->marks = 0;
	take_time(journal->chip, &journal->times);
	journal->mode = JOURNAL_RECORD;
	return 0;
}

int journal_stop(struct journal *journal)
{
	if (journal->mode != JOURNAL_RECORD)
		return -EINVAL;
	take_time(journal->chip, &(struct journal_times){0});
	journal->mode = JOURNAL_CHECK;
	return 0;
}

int journal_mark(struct journal *journal, u32 mark)
{
	struct journal_mark *marks = (struct journal_mark *)journal->memory;

	if (journal->mode != JOURNAL_RECORD)
		return -EINVAL;
	if (journal->marks == JOURNAL_MARKS_MAX) {
		journal->lost++;
		return -ENOSPC;
	}
	marks[journal->marks++] = (struct journal_mark){
		.ops = journal->recorded,
		.mark = mark,
	};
	return 0;
}

static u32 add_u64(u32 crc, u64 value)
{
	return shim_crc32(crc, (const u8 *)&value, sizeof(value));
}

static u32 block_crc(struct chip *chip, u32 first, u32 crc)
{
	const struct chip_block *block = block_of(chip, first);
	u32 page;

	crc = add_u64(crc, (u64)block->wear << 32 | block->disturb);
	crc = add_u64(crc, (u64)block->flags << 32 | block->data_pages);
	crc = add_u64(crc, block->high);
	for (page = first; page < first + chip->pages_per_block; page++) {
		crc = add_u64(crc, (u64)page << 32 | chip->state[page]);
		if (chip->state[page])
			crc = shim_crc32(crc, cells_of(chip, page),
					 chip->page_bytes);
	}
	return crc;
}

u32 journal_chip_crc(const struct journal *journal)
{
	struct chip *chip = journal->chip;
	const struct faults *faults = &chip->faults;
	u32 crc = add_u64(0, chip->op_seq), first;

	crc = add_u64(crc, faults->programs);
	crc = add_u64(crc, faults->erases);
	crc = shim_crc32(crc, (const u8 *)faults->stored,
			 faults->stored_count * sizeof(struct stored_flip));
	for (first = 0; first < chip->pages; first += chip->pages_per_block)
		crc = block_crc(chip, first, crc);
	return crc;
}

const struct journal_entry *journal_entry(const struct journal *journal,
					  u32 index)
{
	return index < journal->recorded ? entry_at(journal, index) : NULL;
}

const struct journal_entry *journal_next(const struct journal *journal,
					 bool of_check)
{
	if (!of_check)
		return journal_entry(journal, journal->at);
	return journal->entries < journal->known
		       ? entry_at(journal, journal->entries)
		       : NULL;
}

const u8 *journal_after(const struct journal *journal,
			const struct journal_entry *entry, u16 *state)
{
	const u8 *states = states_at(journal, &entry->after);

	memcpy(state, states, sizeof(*state));
	return *state ? states + sizeof(*state) : NULL;
}
