// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The commands of an SPI-NAND, each as the cycles of a parallel bus that do the
 * same to simnand's chip.
 */
#include <linux/errno.h>
#include <linux/string.h>

#include "spi.h"

/* The parallel commands that take their place. */
enum {
	PIN_READ = 0x00,
	PIN_READ_COLUMN = 0x05,
	PIN_PROGRAM = 0x10,
	PIN_READ_START = 0x30,
	PIN_ERASE = 0x60,
	PIN_LOAD = 0x80,
	PIN_LOAD_COLUMN = 0x85,
	PIN_ERASE_START = 0xd0,
	PIN_READ_COLUMN_START = 0xe0,
	PIN_RESET = 0xff,
};

struct spi_command;
typedef int (*command_fn)(struct spi_chip *spi, const struct spi_mem_op *op,
			  u64 end_ns);

struct spi_command {
	u8 opcode;

	/* What it takes: bytes of its address, and which way its data go. */
	u8 address_min;
	u8 address_max;
	enum spi_mem_data_dir data;

	/* It is taken while the array works. */
	bool anytime;
	command_fn run;
};

/* Row and column go over the pins low byte first. */
static unsigned int column_cycles(const struct chip *chip, u32 column, u8 *to)
{
	to[0] = column;
	to[1] = column >> 8;
	return chip->column_cycles;
}

static unsigned int row_cycles(const struct chip *chip, u32 row, u8 *to)
{
	unsigned int i;

	for (i = 0; i < chip->row_cycles; i++)
		to[i] = row >> 8 * i;
	return chip->row_cycles;
}

/* The bit above a page's own columns selects a plane, of which there is one. */
static u32 column_in(const struct chip *chip, u64 address)
{
	return address & (2 * chip->params.writesize - 1);
}

static bool ecc_on(const struct chip *chip)
{
	return chip->feature[REG_CONFIG][0] & CONFIG_ECC;
}

static int reset(struct spi_chip *spi, const struct spi_mem_op *op, u64 end_ns)
{
	chip_command(&spi->sim->chip, PIN_RESET);
	spi->write_enabled = false;
	spi->failed = 0;
	spi->ready_ns = 0;
	return 0;
}

static int read_id(struct spi_chip *spi, const struct spi_mem_op *op,
		   u64 end_ns)
{
	const struct chip_params *p = &spi->sim->chip.params;
	unsigned int sent = op->addr.nbytes + op->dummy.nbytes;
	u8 *to = op->data.buf.in;
	unsigned int i, at;

	for (i = 0; i < op->data.nbytes; i++) {
		at = sent + i - spi->params.id_skip;
		to[i] = sent + i >= spi->params.id_skip && at < p->id_len
				? p->id[at]
				: 0;
	}
	return 0;
}

static int get_feature(struct spi_chip *spi, const struct spi_mem_op *op,
		       u64 end_ns)
{
	memset(op->data.buf.in, spi_register(spi, op->addr.val, end_ns),
	       op->data.nbytes);
	return 0;
}

static int set_feature(struct spi_chip *spi, const struct spi_mem_op *op,
		       u64 end_ns)
{
	u8 number = op->addr.val;

	if (op->data.nbytes && number != REG_STATUS)
		spi->sim->chip.feature[number][0] =
			*(const u8 *)op->data.buf.out;
	return 0;
}

/* Macronix: the most bits corrected in a step of the page in the register. */
static int read_ecc(struct spi_chip *spi, const struct spi_mem_op *op,
		    u64 end_ns)
{
	memset(op->data.buf.in, spi->corrected, op->data.nbytes);
	return 0;
}

static int enable_write(struct spi_chip *spi, const struct spi_mem_op *op,
			u64 end_ns)
{
	spi->write_enabled = true;
	return 0;
}

static int disable_write(struct spi_chip *spi, const struct spi_mem_op *op,
			 u64 end_ns)
{
	spi->write_enabled = false;
	return 0;
}

/* The engine on the die corrects the page in the register. */
static void correct_register(struct spi_chip *spi)
{
	const struct simnand_params *p = &spi->sim->params;
	struct chip *chip = &spi->sim->chip;
	struct chip_ecc ecc = {.step = p->ecc_step,
			       .strength = p->ecc_strength};
	u32 corrected = 0, failed = 0;

	spi->corrected = chip_ecc_page(chip, &ecc, chip->reg,
				       chip->reg + p->chip.writesize,
				       &corrected, &failed);
	spi->uncorrectable = failed;
}

static int read_page(struct spi_chip *spi, const struct spi_mem_op *op,
		     u64 end_ns)
{
	struct chip *chip = &spi->sim->chip;
	u8 cycles[CHIP_ID_MAX];
	unsigned int n = column_cycles(chip, 0, cycles);

	n += row_cycles(chip, op->addr.val, cycles + n);
	chip->raw = !ecc_on(chip);
	chip_command(chip, PIN_READ);
	chip_address(chip, cycles, n);
	chip_command(chip, PIN_READ_START);
	spi->corrected = 0;
	spi->uncorrectable = false;
	if (!chip->raw && chip->reg_row != CHIP_NO_PAGE)
		correct_register(spi);
	chip->raw = false;
	return 0;
}

static int read_cache(struct spi_chip *spi, const struct spi_mem_op *op,
		      u64 end_ns)
{
	struct chip *chip = &spi->sim->chip;
	u8 cycles[2];
	unsigned int n =
		column_cycles(chip, column_in(chip, op->addr.val), cycles);

	chip_command(chip, PIN_READ_COLUMN);
	chip_address(chip, cycles, n);
	chip_command(chip, PIN_READ_COLUMN_START);
	chip_data_out(chip, op->data.buf.in, op->data.nbytes, true);
	return 0;
}

/* The register is erased first; its row comes with the program. */
static int load(struct spi_chip *spi, const struct spi_mem_op *op, u64 end_ns)
{
	struct chip *chip = &spi->sim->chip;
	u8 cycles[CHIP_ID_MAX];
	unsigned int n =
		column_cycles(chip, column_in(chip, op->addr.val), cycles);

	n += row_cycles(chip, 0, cycles + n);
	chip_command(chip, PIN_LOAD);
	chip_address(chip, cycles, n);
	chip_data_in(chip, op->data.buf.out, op->data.nbytes, true);
	return 0;
}

/* What is not loaded stays in the register, as the last read or load left it.
 */
static int load_more(struct spi_chip *spi, const struct spi_mem_op *op,
		     u64 end_ns)
{
	struct chip *chip = &spi->sim->chip;
	u8 cycles[2];
	unsigned int n =
		column_cycles(chip, column_in(chip, op->addr.val), cycles);

	if (!chip->loading) {
		chip->loading = true;
		chip->reg_row = CHIP_NO_PAGE;
		chip->data_loaded = 0;
		chip->oob_loaded = 0;
	}
	chip_command(chip, PIN_LOAD_COLUMN);
	chip_address(chip, cycles, n);
	chip_data_in(chip, op->data.buf.out, op->data.nbytes, true);
	return 0;
}

/* The driver always loads a whole page. One whose data are all 0xff programs
 * its spare area alone. */
static bool has_data(const struct chip *chip)
{
	return !chip->oob_loaded || chip->reg_filled < chip->params.writesize ||
	       memchr_inv(chip->reg, 0xff, chip->params.writesize);
}

/* A program or erase is not taken without WRITE ENABLE, and fails while its
 * block is protected. */
static bool may_change(struct spi_chip *spi, u8 failure)
{
	bool enabled = spi->write_enabled;

	spi->failed = 0;
	spi->write_enabled = false;
	if (enabled && spi->sim->chip.feature[REG_LOCK][0] & LOCK_ALL)
		spi->failed = failure;
	return enabled && !spi->failed;
}

static int program(struct spi_chip *spi, const struct spi_mem_op *op,
		   u64 end_ns)
{
	struct chip *chip = &spi->sim->chip;

	if (!may_change(spi, STATUS_PROGRAM_FAILED))
		return 0;
	chip->row = op->addr.val;
	if (!has_data(chip))
		chip->data_loaded = 0;
	chip->raw = !ecc_on(chip);
	chip_command(chip, PIN_PROGRAM);
	chip->raw = false;
	if (chip->status & STATUS_FAIL)
		spi->failed = STATUS_PROGRAM_FAILED;
	return 0;
}

static int erase(struct spi_chip *spi, const struct spi_mem_op *op, u64 end_ns)
{
	struct chip *chip = &spi->sim->chip;
	u8 cycles[CHIP_ID_MAX];
	unsigned int n;

	if (!may_change(spi, STATUS_ERASE_FAILED))
		return 0;
	n = row_cycles(chip, op->addr.val, cycles);
	chip_command(chip, PIN_ERASE);
	chip_address(chip, cycles, n);
	chip_command(chip, PIN_ERASE_START);
	if (chip->status & STATUS_FAIL)
		spi->failed = STATUS_ERASE_FAILED;
	return 0;
}

/* clang-format off */
static const struct spi_command commands[] = {
	{0x02, 2, 2, SPI_MEM_DATA_OUT, false, load},
	{0x03, 2, 3, SPI_MEM_DATA_IN, false, read_cache},
	{0x04, 0, 0, SPI_MEM_NO_DATA, false, disable_write},
	{0x06, 0, 0, SPI_MEM_NO_DATA, false, enable_write},
	{0x0b, 2, 3, SPI_MEM_DATA_IN, false, read_cache},
	{0x0f, 1, 1, SPI_MEM_DATA_IN, true, get_feature},
	{0x10, 3, 3, SPI_MEM_NO_DATA, false, program},
	{0x13, 3, 3, SPI_MEM_NO_DATA, false, read_page},
	{0x1f, 1, 1, SPI_MEM_DATA_OUT, false, set_feature},
	{0x32, 2, 2, SPI_MEM_DATA_OUT, false, load},
	{0x34, 2, 2, SPI_MEM_DATA_OUT, false, load_more},
	{0x3b, 2, 3, SPI_MEM_DATA_IN, false, read_cache},
	{0x6b, 2, 3, SPI_MEM_DATA_IN, false, read_cache},
	{0x7c, 0, 0, SPI_MEM_DATA_IN, false, read_ecc},
	{0x84, 2, 2, SPI_MEM_DATA_OUT, false, load_more},
	{0x9f, 0, 1, SPI_MEM_DATA_IN, false, read_id},
	{0xbb, 2, 3, SPI_MEM_DATA_IN, false, read_cache},
	{0xd8, 3, 3, SPI_MEM_NO_DATA, false, erase},
	{0xeb, 2, 3, SPI_MEM_DATA_IN, false, read_cache},
	{0xff, 0, 0, SPI_MEM_NO_DATA, true, reset},
};
/* clang-format on */

static const struct spi_command *find_command(const struct spi_mem_op *op)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(commands); i++)
		if (commands[i].opcode == op->cmd.opcode &&
		    commands[i].address_min <= op->addr.nbytes &&
		    commands[i].address_max >= op->addr.nbytes &&
		    commands[i].data == op->data.dir)
			return &commands[i];
	return NULL;
}

bool spi_knows(const struct spi_mem_op *op)
{
	return op->cmd.nbytes == 1 && find_command(op);
}

int spi_run(struct spi_chip *spi, const struct spi_mem_op *op, u64 end_ns)
{
	const struct spi_command *command = find_command(op);

	if (!command)
		return -EOPNOTSUPP;
	if (!command->anytime && end_ns < spi->ready_ns)
		return -EBUSY; /* no chip takes it: the driver's mistake */
	return command->run(spi, op, end_ns);
}
