// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The NAND chip itself; chip.h says what it is. Costs: one copy of a page for
 * each array read and program, a byte of state for each page.
 */
#include "chip.h"

/* Commands, as data sheets name them. */
enum {
	CMD_READ0 = 0x00,
	CMD_READ1 = 0x01,
	CMD_RNDOUT = 0x05,
	CMD_PAGEPROG = 0x10,
	CMD_READSTART = 0x30,
	CMD_READOOB = 0x50,
	CMD_ERASE1 = 0x60,
	CMD_STATUS = 0x70,
	CMD_SEQIN = 0x80,
	CMD_RNDIN = 0x85,
	CMD_READID = 0x90,
	CMD_ERASE2 = 0xd0,
	CMD_RNDOUTSTART = 0xe0,
	CMD_RESET = 0xff,
};

enum {
	STATUS_FAIL = 0x01,
	STATUS_IDLE = 0xe0, /* ready twice over, and not write-protected */
};

#define CHIP_HAS_DATA 0x80
#define CHIP_PROGRAMS 0x7f

/* READ ID from here asks for the ONFI signature, which we do not have. */
#define ID_ADDRESS_ONFI 0x20

static bool power_of_two(unsigned int n)
{
	return n && !(n & (n - 1));
}

static bool small_page(const struct chip *chip)
{
	return chip->params.writesize == 512;
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
	if (p->id_len < 2 || p->id_len > CHIP_ID_MAX)
		return "id must have 2 to 8 bytes";
	return NULL;
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
	chip->page_bytes = params->writesize + params->oobsize;
	chip->column_cycles = small_page(chip) ? 1 : 2;
	chip->row_cycles = chip->pages > 1 << 16 ? 3 : 2;
	chip->status = STATUS_IDLE;

	chip->reg = shim_zalloc(chip->page_bytes);
	chip->state = shim_zalloc(chip->pages);
	chip->block = shim_zalloc(params->blocks * sizeof(*chip->block));
	if (chip->reg && chip->state && chip->block)
		return 0;
	chip_exit(chip);
	return -ENOMEM;
}

void chip_exit(struct chip *chip)
{
	u32 i;

	for (i = 0; chip->block && i < chip->params.blocks; i++)
		shim_free(chip->block[i].mem);
	shim_free(chip->block);
	shim_free(chip->state);
	shim_free(chip->reg);
	chip->block = NULL;
	chip->state = NULL;
	chip->reg = NULL;
}

static struct chip_block *block_of(struct chip *chip, u32 page)
{
	return &chip->block[page / chip->pages_per_block];
}

/* The cells of a page. NULL: not allocated, and that cannot be done now. */
static u8 *cells_of(struct chip *chip, u32 page)
{
	struct chip_block *block = block_of(chip, page);
	size_t at = (size_t)chip->page_bytes * (page % chip->pages_per_block);

	if (chip->array)
		return chip->array + (size_t)chip->page_bytes * page;
	if (!block->mem)
		block->mem = shim_alloc((size_t)chip->page_bytes *
					chip->pages_per_block);
	return block->mem ? block->mem + at : NULL;
}

static void report(struct chip *chip, enum chip_trouble why)
{
	if (chip->report)
		chip->report(chip->context, why,
			     chip->row / chip->pages_per_block,
			     chip->row % chip->pages_per_block);
}

static void misuse(struct chip *chip, enum chip_trouble why)
{
	chip->counts.illegal++;
	report(chip, why);
}

/* True if the address is whole and there is such a page. */
static bool addressed(struct chip *chip, unsigned int cycles)
{
	if (chip->addr_count == cycles && chip->row < chip->pages)
		return true;
	misuse(chip, CHIP_OUT_OF_RANGE);
	chip->status |= STATUS_FAIL;
	return false;
}

static u32 column_from(const struct chip *chip)
{
	u32 column = chip->addr[0];

	if (small_page(chip))
		return chip->area + column;
	column |= (u32)chip->addr[1] << 8;
	return chip->params.bus_bits == 16 ? 2 * column : column;
}

static u32 row_from(const struct chip *chip, unsigned int first)
{
	u32 row = 0;
	unsigned int i;

	for (i = 0; i < chip->row_cycles; i++)
		row |= (u32)chip->addr[first + i] << 8 * i;
	return row;
}

/* Move the present array read to the count that it now belongs to. */
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
}

static void array_read(struct chip *chip)
{
	chip->output = CHIP_OUT_PAGE;
	chip->read_kind = CHIP_READ_NONE;
	chip->loading = false;
	chip->column = column_from(chip);
	chip->row = row_from(chip, chip->column_cycles);
	memset(chip->reg, 0xff, chip->page_bytes);
	if (!addressed(chip, chip->column_cycles + chip->row_cycles))
		return;

	chip->elapsed_ns += chip->params.t_r_ns;
	chip->data_moved = false;
	count_read(chip, chip->column < chip->params.writesize ? CHIP_READ_PAGE
							       : CHIP_READ_OOB);
	if (chip->state[chip->row])
		memcpy(chip->reg, cells_of(chip, chip->row), chip->page_bytes);
}

static void count_program(struct chip *chip, bool has_data)
{
	struct chip_block *block = block_of(chip, chip->row);

	if (!has_data) {
		chip->counts.oob_programs++;
		block->oob_programs++;
		return;
	}
	chip->counts.programs++;
	block->programs++;
	if (chip->data_loaded < chip->params.writesize)
		chip->counts.subpage_programs++;
}

static void check_program(struct chip *chip)
{
	const struct chip_block *block = block_of(chip, chip->row);
	u32 page = chip->row % chip->pages_per_block;

	if ((chip->state[chip->row] & CHIP_PROGRAMS) >= chip->params.nop)
		misuse(chip, CHIP_TOO_MANY_PROGRAMS);
	if (chip->params.in_order && page + 1 < block->high)
		misuse(chip, CHIP_OUT_OF_ORDER);
}

/* Programming can only clear bits; the first one finds all of them set. */
static void program_cells(struct chip *chip, u8 *cells)
{
	u32 i;

	if (!chip->state[chip->row]) {
		memcpy(cells, chip->reg, chip->page_bytes);
		return;
	}
	for (i = 0; i < chip->page_bytes; i++)
		cells[i] &= chip->reg[i];
}

static void array_program(struct chip *chip)
{
	struct chip_block *block;
	bool has_data;
	u8 *cells, *state;
	u32 page;

	chip->status = STATUS_IDLE;
	if (!addressed(chip, chip->loading ? chip->addr_count : ~0u))
		return;
	chip->loading = false;
	chip->elapsed_ns += chip->params.t_prog_ns;
	has_data = chip->data_loaded || !chip->oob_loaded;
	count_program(chip, has_data);
	check_program(chip);

	cells = cells_of(chip, chip->row);
	if (!cells) {
		report(chip, CHIP_NO_MEMORY);
		chip->status |= STATUS_FAIL;
		return;
	}
	program_cells(chip, cells);

	block = block_of(chip, chip->row);
	state = &chip->state[chip->row];
	page = chip->row % chip->pages_per_block;
	if ((*state & CHIP_PROGRAMS) < CHIP_PROGRAMS)
		(*state)++;
	if (has_data && !(*state & CHIP_HAS_DATA)) {
		*state |= CHIP_HAS_DATA;
		block->data_pages++;
	}
	if (block->high < page + 1)
		block->high = page + 1;
}

static void array_erase(struct chip *chip)
{
	struct chip_block *block;
	u32 first;

	chip->status = STATUS_IDLE;
	chip->row = row_from(chip, 0);
	if (!addressed(chip, chip->row_cycles))
		return;

	chip->elapsed_ns += chip->params.t_bers_ns;
	block = block_of(chip, chip->row);
	first = chip->row - chip->row % chip->pages_per_block;
	memset(&chip->state[first], 0, chip->pages_per_block);
	block->data_pages = 0;
	block->high = 0;
	block->erases++;
	chip->counts.erases++;
}

/* READ1 and READOOB choose a column area, and exist with small pages only. */
static void select_area(struct chip *chip, u8 opcode)
{
	chip->area = 0;
	if (small_page(chip) && opcode == CMD_READ1)
		chip->area = 256;
	if (small_page(chip) && opcode == CMD_READOOB)
		chip->area = 512;
	chip->output = CHIP_OUT_PAGE;
}

/* A command that addresses or data follow. */
static void begin_command(struct chip *chip, u8 opcode)
{
	chip->command = opcode;
	chip->addr_count = 0;
	if (opcode == CMD_SEQIN || opcode == CMD_ERASE1)
		chip->read_kind = CHIP_READ_NONE;
	switch (opcode) {
	case CMD_READ0:
	case CMD_READ1:
	case CMD_READOOB:
		select_area(chip, opcode);
		break;
	case CMD_STATUS:
		chip->output = CHIP_OUT_STATUS;
		break;
	case CMD_SEQIN:
		memset(chip->reg, 0xff, chip->page_bytes);
		chip->loading = false;
		chip->data_loaded = 0;
		chip->oob_loaded = 0;
		break;
	case CMD_RNDOUT:
	case CMD_RNDIN:
	case CMD_ERASE1:
		break;
	default: /* READ ID waits for its address; the rest is not ours */
		chip->output = CHIP_OUT_ZERO;
		chip->out_pos = 0;
		break;
	}
}

void chip_command(struct chip *chip, u8 opcode)
{
	chip->elapsed_ns += chip->params.t_wc_ns;
	switch (opcode) {
	case CMD_RESET:
		chip->status = STATUS_IDLE;
		chip->output = CHIP_OUT_ZERO;
		chip->loading = false;
		chip->command = CMD_RESET;
		break;
	case CMD_READSTART:
		array_read(chip);
		break;
	case CMD_RNDOUTSTART:
		chip->column = column_from(chip);
		chip->output = CHIP_OUT_PAGE;
		break;
	case CMD_PAGEPROG:
		array_program(chip);
		break;
	case CMD_ERASE2:
		array_erase(chip);
		break;
	default:
		begin_command(chip, opcode);
	}
}

static void page_addressed(struct chip *chip)
{
	if (chip->command == CMD_SEQIN) {
		chip->column = column_from(chip);
		chip->row = row_from(chip, chip->column_cycles);
		chip->loading = true;
	} else if (small_page(chip)) { /* no READSTART: the address starts it */
		array_read(chip);
	}
}

static void address_complete(struct chip *chip)
{
	unsigned int whole = chip->column_cycles + chip->row_cycles;

	switch (chip->command) {
	case CMD_READID:
		chip->out_pos = 0;
		chip->output = chip->addr[0] == ID_ADDRESS_ONFI ? CHIP_OUT_ZERO
								: CHIP_OUT_ID;
		break;
	case CMD_RNDIN:
		if (chip->addr_count == chip->column_cycles)
			chip->column = column_from(chip);
		break;
	case CMD_READ0:
	case CMD_READ1:
	case CMD_READOOB:
	case CMD_SEQIN:
		if (chip->addr_count == whole)
			page_addressed(chip);
		break;
	default:
		break;
	}
}

void chip_address(struct chip *chip, const u8 *cycles, unsigned int count)
{
	unsigned int i;

	chip->elapsed_ns += (u64)chip->params.t_wc_ns * count;
	for (i = 0; i < count && chip->addr_count < CHIP_ID_MAX; i++)
		chip->addr[chip->addr_count++] = cycles[i];
	address_complete(chip);
}

static u32 cycles_for(const struct chip *chip, u32 bytes, bool force_8bit)
{
	if (force_8bit || chip->params.bus_bits == 8)
		return bytes;
	return (bytes + 1) / 2;
}

static u32 clip(const struct chip *chip, u32 bytes)
{
	u32 left = chip->column < chip->page_bytes
			   ? chip->page_bytes - chip->column
			   : 0;

	return bytes < left ? bytes : left;
}

static void page_out(struct chip *chip, u8 *to, u32 bytes)
{
	u32 n = clip(chip, bytes);

	if (chip->read_kind != CHIP_READ_NONE && n) {
		if (chip->column < chip->params.writesize)
			chip->data_moved = true;
		count_read(chip,
			   chip->data_moved ? CHIP_READ_PAGE : CHIP_READ_OOB);
	}
	if (n)
		memcpy(to, chip->reg + chip->column, n);
	memset(to + n, 0xff, bytes - n);
	chip->column += n;
	chip->counts.bytes_read += n;
}

void chip_data_out(struct chip *chip, u8 *to, u32 bytes, bool force_8bit)
{
	u32 i;

	chip->elapsed_ns +=
		(u64)chip->params.t_rc_ns * cycles_for(chip, bytes, force_8bit);
	switch (chip->output) {
	case CHIP_OUT_PAGE:
		page_out(chip, to, bytes);
		break;
	case CHIP_OUT_STATUS:
		memset(to, chip->status, bytes);
		break;
	case CHIP_OUT_ID:
		for (i = 0; i < bytes; i++, chip->out_pos++)
			to[i] = chip->out_pos < chip->params.id_len
					? chip->params.id[chip->out_pos]
					: 0;
		break;
	case CHIP_OUT_ZERO:
		memset(to, 0, bytes);
		break;
	}
}

void chip_data_in(struct chip *chip, const u8 *from, u32 bytes, bool force_8bit)
{
	u32 n = clip(chip, bytes);
	u32 data = 0;

	chip->elapsed_ns +=
		(u64)chip->params.t_wc_ns * cycles_for(chip, bytes, force_8bit);
	if (!chip->loading || !n)
		return;
	memcpy(chip->reg + chip->column, from, n);
	if (chip->column < chip->params.writesize) {
		data = chip->params.writesize - chip->column;
		data = data < n ? data : n;
	}
	chip->data_loaded += data;
	chip->oob_loaded += n - data;
	chip->column += n;
	chip->counts.bytes_written += n;
}

u64 chip_take_ns(struct chip *chip)
{
	u64 ns = chip->elapsed_ns;

	chip->elapsed_ns = 0;
	return ns;
}

void chip_reset_counts(struct chip *chip)
{
	struct chip_block *block;
	u32 i;

	memset(&chip->counts, 0, sizeof(chip->counts));
	for (i = 0; i < chip->params.blocks; i++) {
		block = &chip->block[i];
		block->reads = 0;
		block->programs = 0;
		block->erases = 0;
		block->oob_reads = 0;
		block->oob_programs = 0;
	}
	chip->read_kind = CHIP_READ_NONE;
}

u64 chip_data_pages(const struct chip *chip, u32 blocks)
{
	u64 pages = 0;
	u32 i;

	for (i = 0; i < blocks; i++)
		pages += chip->block[i].data_pages;
	return pages;
}
