// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The chip as a whole: limits of its parameters, its memory, power, sums.
 * chip.h describes it; decode.c has its pins, array.c its cells, faults.c and
 * flips.c its faults. Costs two bytes of state for each page,
 * and four more where days make bits wrong.
 */
#include "array.h"

static bool power_of_two(unsigned int n)
{
	return n && !(n & (n - 1));
}

const char *chip_check(const struct chip_params *p)
{
	if (!power_of_two(p->writesize) || p->writesize < 512 ||
	    p->writesize > 16384)
		return "writesize must be a power of two from 512 to 16384";
	if (p->oobsize < 8 || p->oobsize > p->writesize || p->oobsize % 2)
		return "oobsize must be even, from 8 to writesize";
	if (!power_of_two(p->erasesize) || p->erasesize < 2 * p->writesize)
		return "erasesize must be a power of two of at least 2 pages";
	if (!power_of_two(p->blocks))
		return "blocks must be a power of two";
	if ((u64)p->erasesize * p->blocks % (1 << 20))
		return "erasesize x blocks must be a whole number of MiB";
	if ((u64)p->blocks * (p->erasesize / p->writesize) > 1 << 24)
		return "more than 2^24 pages cannot be addressed";
	if (p->bus_bits != 8 && p->bus_bits != 16)
		return "bus_bits must be 8 or 16";
	if (p->bus_bits == 16 && p->writesize == 512)
		return "512-byte pages need bus_bits=8";
	if (p->nop < 1 || p->nop > CHIP_NOP_MAX)
		return "nop must be from 1 to 127";
	if (p->jitter_ppm > CHIP_JITTER_MAX)
		return "jitter_ppm must be from 0 to 400000";
	if (p->id_len < 2 || p->id_len > CHIP_ID_MAX)
		return "id must have 2 to 8 bytes";
	if (p->bad_mark_pages > 7)
		return "bad_mark_pages must be from 0 to 7";
	return faults_check(&p->faults, p->blocks);
}

u64 chip_array_bytes(const struct chip_params *p)
{
	u64 pages = (u64)p->blocks * (p->erasesize / p->writesize);

	return pages * (p->writesize + p->oobsize);
}

int chip_init(struct chip *chip, const struct chip_params *params, void *array,
	      chip_report_fn report, void *context)
{
	memset(chip, 0, sizeof(*chip));
	chip->params = *params;
	chip->report = report;
	chip->context = context;
	chip->array = array;
	chip->pages_per_block = params->erasesize / params->writesize;
	chip->pages = chip->pages_per_block * params->blocks;
	chip->array_pages = chip->pages;
	chip->page_bytes = params->writesize + params->oobsize;
	chip->column_cycles = small_page(chip) ? 1 : 2;
	chip->row_cycles = chip->pages > 1 << 16 ? 3 : 2;
	chip->status = STATUS_IDLE;
	chip->reg_row = CHIP_NO_PAGE;
	chip->powered = true;

	chip->reg = shim_zalloc(chip->page_bytes);
	chip->state = shim_zalloc(chip->pages * sizeof(*chip->state));
	chip->block = shim_zalloc(params->blocks * sizeof(*chip->block));
	if (faults_retention(&params->faults))
		chip->born = shim_zalloc(chip->pages * sizeof(*chip->born));
	chip->reg_filled = chip->page_bytes;
	if (!chip->reg || !chip->state || !chip->block ||
	    (faults_retention(&params->faults) && !chip->born)) {
		chip_exit(chip);
		return -ENOMEM;
	}
	faults_init(chip);
	return 0;
}

void chip_exit(struct chip *chip)
{
	u32 i;

	for (i = 0; chip->block && i < chip->params.blocks; i++)
		shim_free(chip->block[i].mem);
	shim_free(chip->block);
	shim_free(chip->state);
	shim_free(chip->born);
	shim_free(chip->reg);
	oplog_exit(&chip->log);
	chip->block = NULL;
	chip->state = NULL;
	chip->born = NULL;
	chip->reg = NULL;
}

void chip_power(struct chip *chip, bool on)
{
	if (chip->powered && !on)
		chip->counts.power_cuts++;
	chip->powered = on;
	chip->error = on ? 0 : -EIO;
	chip->status = STATUS_IDLE;
	chip->output = CHIP_OUT_ZERO;
	chip->command = 0;
	chip->addr_count = 0;
	chip->area = 0;
	chip->loading = false;
	chip->read_kind = CHIP_READ_NONE;
	chip->reg_row = CHIP_NO_PAGE;
	memset(chip->feature, 0, sizeof(chip->feature));
}

void chip_misuse(struct chip *chip, enum chip_trouble why)
{
	struct chip_counts *counts = &chip->counts;

	counts->illegal++;
	if (why == CHIP_TOO_MANY_PROGRAMS)
		counts->illegal_nop++;
	else if (why == CHIP_OUT_OF_ORDER)
		counts->illegal_order++;
	else if (why == CHIP_NOT_ERASED)
		counts->illegal_erased++;
	else
		counts->illegal_range++;
	if (chip->report)
		chip->report(chip->context, why,
			     chip->row / chip->pages_per_block,
			     chip->row % chip->pages_per_block);
}

u64 chip_take_ns(struct chip *chip)
{
	u64 ns = chip->elapsed_ns;

	chip->elapsed_ns = 0;
	chip->clock_ns += ns;
	chip->counts.busy_ns += ns;
	return ns;
}

static void reset_block(struct chip_block *block)
{
	block->reads = 0;
	block->programs = 0;
	block->erases = 0;
	block->oob_reads = 0;
	block->oob_programs = 0;
	block->subpage_programs = 0;
	block->raw_reads = 0;
	block->raw_programs = 0;
	block->buffer_hits = 0;
}

void chip_reset_counts(struct chip *chip)
{
	u32 i;

	phases_rebase(&chip->phases, &chip->counts);
	memset(&chip->counts, 0, sizeof(chip->counts));
	for (i = 0; i < chip->params.blocks; i++)
		reset_block(&chip->block[i]);
	chip->read_kind = CHIP_READ_NONE;
}

void chip_log_clear(struct chip *chip)
{
	oplog_clear(&chip->log);
	chip->moving = NULL;
	chip->reading = NULL;
}

u64 chip_data_pages(const struct chip *chip, u32 blocks)
{
	u64 pages = 0;
	u32 i;

	for (i = 0; i < blocks; i++)
		pages += chip->block[i].data_pages;
	return pages;
}

u32 chip_erased_blocks(const struct chip *chip, u32 blocks)
{
	const u32 bad = CHIP_FACTORY_BAD | CHIP_WORN_OUT;
	u32 i, n = 0;

	for (i = 0; i < blocks; i++)
		n += !chip->block[i].high && !(chip->block[i].flags & bad);
	return n;
}
