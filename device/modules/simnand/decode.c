// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The chip's pins: decodes a sequence of cycles into an array operation, and
 * moves its bytes across the bus.
 */
#include "array.h"

/* All commands that the chip knows, with the kernel's names (NAND_CMD_*). */
/* clang-format off */
#define CHIP_COMMANDS(X)        \
	X(READ0, 0x00)          \
	X(READ1, 0x01)          \
	X(RNDOUT, 0x05)         \
	X(PAGEPROG, 0x10)       \
	X(READSTART, 0x30)      \
	X(READOOB, 0x50)        \
	X(ERASE1, 0x60)         \
	X(STATUS, 0x70)         \
	X(SEQIN, 0x80)          \
	X(RNDIN, 0x85)          \
	X(READID, 0x90)         \
	X(ERASE2, 0xd0)         \
	X(RNDOUTSTART, 0xe0)    \
	X(GETFEATURES, 0xee)    \
	X(SETFEATURES, 0xef)    \
	X(RESET, 0xff)
/* clang-format on */

enum {
#define COMMAND_CODE(name, opcode) CMD_##name = opcode,
	CHIP_COMMANDS(COMMAND_CODE)
#undef COMMAND_CODE
};

/* Reading or setting a feature (tFEAT), at most; ONFI 1.0, Get Features. */
#define FEATURE_NS 1000

/* READ ID at this address asks for the ONFI signature, which we do not have. */
#define ID_ADDRESS_ONFI 0x20

bool chip_knows(u8 opcode)
{
	switch (opcode) {
#define COMMAND_CASE(name, opcode) case CMD_##name:
		CHIP_COMMANDS(COMMAND_CASE)
#undef COMMAND_CASE
		return true;
	default:
		return false;
	}
}

/* True if the address is complete and the page exists. */
static bool addressed(struct chip *chip, unsigned int cycles)
{
	if (chip->addr_count == cycles && chip->row < chip->pages)
		return true;
	chip_misuse(chip, CHIP_OUT_OF_RANGE);
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

static void start_read(struct chip *chip)
{
	chip->output = CHIP_OUT_PAGE;
	chip->loading = false;
	chip->column = column_from(chip);
	chip->row = row_from(chip, chip->column_cycles);
	if (addressed(chip, chip->column_cycles + chip->row_cycles)) {
		array_read(chip);
		return;
	}
	chip->reg_filled = 0;
	chip->reg_row = CHIP_NO_PAGE;
	chip->read_kind = CHIP_READ_NONE;
}

/* A program command sets all of the register, to 0xff. That is done here, below
 * a column, and what a write then fills is not filled twice. */
static void fill_register(struct chip *chip, u32 column)
{
	if (chip->reg_filled >= column)
		return;
	memset(chip->reg + chip->reg_filled, 0xff, column - chip->reg_filled);
	chip->reg_filled = column;
}

static void start_program(struct chip *chip)
{
	chip->status = STATUS_IDLE;
	fill_register(chip, chip->page_bytes);
	if (addressed(chip, chip->loading ? chip->addr_count : ~0u))
		array_program(chip);
	chip->loading = false;
}

static void start_erase(struct chip *chip)
{
	chip->status = STATUS_IDLE;
	chip->row = row_from(chip, 0);
	if (addressed(chip, chip->row_cycles))
		array_erase(chip);
}

/* READ1 and READOOB choose a column area; only small pages have them. */
static void select_area(struct chip *chip, u8 opcode)
{
	chip->area = 0;
	if (small_page(chip) && opcode == CMD_READ1)
		chip->area = 256;
	if (small_page(chip) && opcode == CMD_READOOB)
		chip->area = 512;
	chip->output = CHIP_OUT_PAGE;
}

/* A command that is followed by addresses or data. */
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
		chip->reg_filled = 0;
		chip->reg_row = CHIP_NO_PAGE;
		chip->loading = false;
		chip->data_loaded = 0;
		chip->oob_loaded = 0;
		break;
	case CMD_RNDOUT:
	case CMD_RNDIN:
	case CMD_ERASE1:
		break;
	default: /* READ ID waits for its address */
		if (!chip_knows(opcode))
			chip->error = -EOPNOTSUPP;
		chip->output = CHIP_OUT_ZERO;
		chip->out_pos = 0;
		break;
	}
}

void chip_command(struct chip *chip, u8 opcode)
{
	if (!chip->powered)
		return;
	chip->elapsed_ns += chip->params.t_wc_ns;
	switch (opcode) {
	case CMD_RESET:
		chip->status = STATUS_IDLE;
		chip->output = CHIP_OUT_ZERO;
		chip->loading = false;
		chip->reg_row = CHIP_NO_PAGE;
		chip->command = CMD_RESET;
		break;
	case CMD_READSTART:
		start_read(chip);
		break;
	case CMD_RNDOUTSTART:
		chip->column = column_from(chip);
		chip->output = CHIP_OUT_PAGE;
		break;
	case CMD_PAGEPROG:
		start_program(chip);
		break;
	case CMD_ERASE2:
		start_erase(chip);
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
		start_read(chip);
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
	case CMD_GETFEATURES:
		chip->out_pos = 0;
		chip->output = CHIP_OUT_FEATURE;
		chip->elapsed_ns += FEATURE_NS;
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

	if (!chip->powered)
		return;
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

	if (n) {
		fill_register(chip, chip->column + n);
		array_moved(chip, chip->column, n);
		memcpy(to, chip->reg + chip->column, n);
	}
	memset(to + n, 0xff, bytes - n);
	chip->column += n;
	chip->counts.bytes_read += n;
}

void chip_data_out(struct chip *chip, u8 *to, u32 bytes, bool force_8bit)
{
	u32 i;

	if (!chip->powered) {
		memset(to, 0xff, bytes);
		return;
	}
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
	case CHIP_OUT_FEATURE:
		for (i = 0; i < bytes; i++)
			to[i] = chip->feature[chip->addr[0]]
					     [chip->out_pos++ % FEATURE_BYTES];
		break;
	case CHIP_OUT_ZERO:
		memset(to, 0, bytes);
		break;
	}
}

/* The bytes of a feature that is set: it takes effect with the last. */
static void feature_in(struct chip *chip, const u8 *from, u32 bytes)
{
	if (chip->addr_count != 1 || bytes != FEATURE_BYTES)
		return;
	memcpy(chip->feature[chip->addr[0]], from, FEATURE_BYTES);
	chip->elapsed_ns += FEATURE_NS;
}

void chip_data_in(struct chip *chip, const u8 *from, u32 bytes, bool force_8bit)
{
	u32 n = clip(chip, bytes);
	u32 data = 0;

	if (!chip->powered)
		return;
	chip->elapsed_ns +=
		(u64)chip->params.t_wc_ns * cycles_for(chip, bytes, force_8bit);
	if (chip->command == CMD_SETFEATURES)
		feature_in(chip, from, bytes);
	if (!chip->loading || !n)
		return;
	fill_register(chip, chip->column);
	memcpy(chip->reg + chip->column, from, n);
	if (chip->reg_filled < chip->column + n)
		chip->reg_filled = chip->column + n;
	if (chip->column < chip->params.writesize) {
		data = chip->params.writesize - chip->column;
		data = data < n ? data : n;
	}
	chip->data_loaded += data;
	chip->oob_loaded += n - data;
	chip->column += n;
	chip->counts.bytes_written += n;
}
