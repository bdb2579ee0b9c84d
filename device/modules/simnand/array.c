// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The array: what reads, programs and erases do to cells and page states, and
 * how they are counted and logged. A read or a program costs one copy of a
 * page.
 */
#include "array.h"
#include "prng.h"

u8 *cells_of(struct chip *chip, u32 page)
{
	struct chip_block *block = block_of(chip, page);
	size_t at = (size_t)chip->page_bytes * (page % chip->pages_per_block);

	if (chip->array && page < chip->array_pages)
		return chip->array + (size_t)chip->page_bytes * page;
	if (!block->mem)
		block->mem = shim_alloc((size_t)chip->page_bytes *
					chip->pages_per_block);
	return block->mem ? block->mem + at : NULL;
}

/* The maker writes the marker into the pages that the data sheet names. */
static bool marked_bad(const struct chip *chip, u32 page)
{
	u32 in_block = page % chip->pages_per_block;
	unsigned int pages = chip->params.bad_mark_pages ?: 3;

	if (!(chip->block[page / chip->pages_per_block].flags &
	      CHIP_FACTORY_BAD))
		return false;
	return (pages & 1 && in_block == 0) || (pages & 2 && in_block == 1) ||
	       (pages & 4 && in_block == chip->pages_per_block - 1);
}

void page_content(struct chip *chip, u32 page, u8 *to)
{
	u8 *spare = to + chip->params.writesize;

	if (chip->state[page])
		memcpy(to, cells_of(chip, page), chip->page_bytes);
	else
		memset(to, 0xff, chip->page_bytes);
	if (!marked_bad(chip, page))
		return;
	if (small_page(chip)) {
		spare[5] = 0;
	} else {
		spare[0] = 0;
		spare[1] = 0;
	}
}

/* The time of this array operation, jitter included. */
static u32 with_jitter(struct chip *chip, u32 array_ns)
{
	u32 off = shim_div((u64)array_ns * chip->params.jitter_ppm, 1000000);
	u64 random;

	if (!off)
		return array_ns;
	random = prng(chip->params.jitter_seed, PRNG_JITTER, 0,
		      ++chip->jittered);
	return array_ns - off + prng_below(random, 2 * off + 1);
}

/* Every array operation begins here. op: the number of a program or erase,
 * chip->op_seq; 0 for a read. */
static void chip_op_begin(struct chip *chip, enum oplog_kind kind, u64 op,
			  u32 array_ns, int energy_nj)
{
	struct oplog_record *record = oplog_next(&chip->log);

	array_ns = with_jitter(chip, array_ns);
	if (record) {
		record->time_ns = chip->clock_ns + chip->elapsed_ns;
		record->op = op;
		record->page = chip->row;
		record->array_ns = array_ns;
		record->phase = chip->phases.count;
		record->kind = kind;
		record->flags = chip->raw ? OPLOG_RAW : 0;
	}
	chip->moving = record;
	chip->elapsed_ns += array_ns;
	if (energy_nj > 0)
		chip->counts.energy_nj += energy_nj;
}

static void log_flag(struct chip *chip, u8 flag)
{
	if (chip->moving)
		chip->moving->flags |= flag;
}

/* Move the current array read to the count that it now belongs to. */
static void count_read(struct chip *chip, enum chip_read_kind kind)
{
	struct chip_block *block = block_of(chip, chip->row);

	if (kind == chip->read_kind)
		return;
	if (chip->read_kind == CHIP_READ_PAGE) {
		chip->counts.reads--;
		block->reads--;
	} else if (chip->read_kind == CHIP_READ_OOB) {
		chip->counts.oob_reads--;
		block->oob_reads--;
	}
	if (kind == CHIP_READ_PAGE) {
		chip->counts.reads++;
		block->reads++;
	} else if (kind == CHIP_READ_OOB) {
		chip->counts.oob_reads++;
		block->oob_reads++;
	}
	chip->read_kind = kind;
	if (chip->reading)
		chip->reading->kind =
			kind == CHIP_READ_PAGE ? OPLOG_READ : OPLOG_OOB_READ;
}

static enum chip_read_kind kind_at(const struct chip *chip, u32 column)
{
	return column < chip->params.writesize ? CHIP_READ_PAGE : CHIP_READ_OOB;
}

/* The register has the page. The bytes moved now decide how the read that
 * brought it there is counted, as after a change of column. */
static bool register_hit(struct chip *chip)
{
	if (!chip->params.register_hits || chip->reg_row != chip->row)
		return false;
	chip->counts.buffer_hits++;
	block_of(chip, chip->row)->buffer_hits++;
	chip_op_begin(chip, OPLOG_HIT, 0, 0, 0);
	return true;
}

void array_read(struct chip *chip)
{
	struct chip_block *block = block_of(chip, chip->row);

	if (register_hit(chip))
		return;
	chip_op_begin(chip, OPLOG_READ, 0, chip->params.t_r_ns,
		      chip->params.e_read_nj);
	chip->reading = chip->moving;
	chip->read_kind = CHIP_READ_NONE;
	chip->data_moved = false;
	count_read(chip, kind_at(chip, chip->column));
	if (chip->raw) {
		chip->counts.raw_reads++;
		block->raw_reads++;
	}
	if (!chip->scanning)
		block->disturb++;
	page_content(chip, chip->row, chip->reg);
	chip->reg_filled = chip->page_bytes;
	flips_apply(chip, chip->row);
	chip->reg_row = chip->row;
}

void array_moved(struct chip *chip, u32 column, u32 bytes)
{
	if (chip->moving)
		chip->moving->bytes += bytes;
	if (chip->read_kind == CHIP_READ_NONE)
		return;
	if (kind_at(chip, column) == CHIP_READ_PAGE)
		chip->data_moved = true;
	count_read(chip, chip->data_moved ? CHIP_READ_PAGE : CHIP_READ_OOB);
}

/* The register no longer holds what a read brought there. */
static void end_read(struct chip *chip)
{
	chip->read_kind = CHIP_READ_NONE;
	chip->reg_row = CHIP_NO_PAGE;
	chip->reading = NULL;
}

static void count_program(struct chip *chip, bool has_data)
{
	struct chip_block *block = block_of(chip, chip->row);

	if (chip->raw) {
		chip->counts.raw_programs++;
		block->raw_programs++;
	}
	if (!has_data) {
		chip->counts.oob_programs++;
		block->oob_programs++;
		return;
	}
	chip->counts.programs++;
	block->programs++;
	if (chip->data_loaded < chip->params.writesize) {
		chip->counts.subpage_programs++;
		block->subpage_programs++;
	}
}

/* Programming can only clear bits; the first program finds all of them set. */
static void program_cells(struct chip *chip, u8 *cells)
{
	u32 i;

	if (!chip->state[chip->row]) {
		memcpy(cells, chip->reg, chip->page_bytes);
		return;
	}
	i = plant_errors(chip, cells) ? chip->params.writesize : 0;
	for (; i + sizeof(u64) <= chip->page_bytes; i += sizeof(u64))
		store_word(cells + i,
			   load_word(cells + i) & load_word(chip->reg + i));
	for (; i < chip->page_bytes; i++)
		cells[i] &= chip->reg[i];
}

/* Note that the page was programmed, completely or not. */
static void page_programmed(struct chip *chip, bool has_data, u16 flags)
{
	struct chip_block *block = block_of(chip, chip->row);
	u16 *state = &chip->state[chip->row];
	u32 page = chip->row % chip->pages_per_block;

	if (chip->born && !*state)
		chip->born[chip->row] = chip->days;
	if ((*state & PAGE_PROGRAMS) < PAGE_PROGRAMS)
		(*state)++;
	*state |= flags;
	if (has_data && !(*state & PAGE_HAS_DATA)) {
		*state |= PAGE_HAS_DATA;
		block->data_pages++;
	}
	if (block->high < page + 1)
		block->high = page + 1;
}

static void report_fault(struct chip *chip, enum chip_trouble what)
{
	if (chip->report)
		chip->report(chip->context, what,
			     chip->row / chip->pages_per_block,
			     chip->row % chip->pages_per_block);
}

static void fail(struct chip *chip)
{
	chip->status |= STATUS_FAIL;
	log_flag(chip, OPLOG_FAILED);
}

/* A program that stopped half way, because power was cut or it failed. */
static void broken_program(struct chip *chip, u8 *cells, bool has_data)
{
	bool done;

	if (!chip->state[chip->row])
		memset(cells, 0xff, chip->page_bytes);
	if (fault_tear_program(chip, cells, chip->reg, &done))
		page_programmed(chip, has_data, PAGE_GARBLED);
	else if (done)
		page_programmed(chip, has_data, 0);
}

static void cut_power(struct chip *chip)
{
	log_flag(chip, OPLOG_CUT | OPLOG_FAILED);
	report_fault(chip, CHIP_POWER_CUT);
	chip_power(chip, false);
}

static void finish_program(struct chip *chip, u8 *cells, bool has_data,
			   bool overwrites)
{
	u32 block = chip->row / chip->pages_per_block;
	enum fault fault = fault_on_program(chip, block, has_data);

	if (fault == FAULT_NONE) {
		program_cells(chip, cells);
		page_programmed(chip, has_data,
				overwrites && !chip->raw ? PAGE_GARBLED : 0);
		return;
	}
	/* A factory-bad block cannot be written: its cells do not change. */
	if (!(chip->block[block].flags & CHIP_FACTORY_BAD))
		broken_program(chip, cells, has_data);
	if (fault == FAULT_CUT) {
		cut_power(chip);
		return;
	}
	chip->counts.program_fails++;
	fail(chip);
	report_fault(chip, CHIP_PROGRAM_FAILED);
}

void array_program(struct chip *chip)
{
	bool has_data = chip->data_loaded || !chip->oob_loaded;
	bool overwrites;
	u8 *cells;

	end_read(chip);
	chip_op_begin(chip, has_data ? OPLOG_PROGRAM : OPLOG_OOB_PROGRAM,
		      ++chip->op_seq, chip->params.t_prog_ns,
		      chip->params.e_prog_nj);
	if (chip->moving)
		chip->moving->bytes = chip->data_loaded + chip->oob_loaded;
	count_program(chip, has_data);
	if (check_program(chip, &overwrites)) {
		log_flag(chip, OPLOG_ILLEGAL);
		if (chip->params.strict) {
			fail(chip);
			return;
		}
	}
	cells = cells_of(chip, chip->row);
	if (!cells) {
		report_fault(chip, CHIP_NO_MEMORY);
		fail(chip);
		return;
	}
	finish_program(chip, cells, has_data, overwrites);
}

static void erase_block(struct chip *chip, u32 first)
{
	struct chip_block *block = block_of(chip, first);

	memset(&chip->state[first], 0,
	       chip->pages_per_block * sizeof(*chip->state));
	faults_forget_block(chip, first / chip->pages_per_block);
	block->data_pages = 0;
	block->high = 0;
	block->disturb = 0;
}

static void broken_erase(struct chip *chip, u32 first)
{
	bool done = false;
	u32 page;

	for (page = first; page < first + chip->pages_per_block; page++) {
		if (!chip->state[page])
			continue;
		if (fault_tear_erase(chip, page, cells_of(chip, page), &done))
			chip->state[page] |= PAGE_GARBLED;
		else
			break; /* nothing or all: the same for each page */
	}
	if (done)
		erase_block(chip, first);
}

void array_erase(struct chip *chip)
{
	struct chip_block *block = block_of(chip, chip->row);
	u32 first = chip->row - chip->row % chip->pages_per_block;
	enum fault fault;

	end_read(chip);
	chip->row = first;
	chip_op_begin(chip, OPLOG_ERASE, ++chip->op_seq, chip->params.t_bers_ns,
		      chip->params.e_erase_nj);
	block->erases++;
	block->wear++;
	chip->counts.erases++;
	fault = fault_on_erase(chip, first / chip->pages_per_block);
	if (fault == FAULT_NONE) {
		erase_block(chip, first);
	} else if (fault == FAULT_CUT) {
		broken_erase(chip, first);
		cut_power(chip);
	} else {
		chip->counts.erase_fails++;
		fail(chip);
		report_fault(chip, CHIP_ERASE_FAILED);
	}
}
