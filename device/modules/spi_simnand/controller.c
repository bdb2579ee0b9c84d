// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The SPI controller that simnand's chip is behind, and its life: loading makes
 * the controller and its one device, which the kernel's spinand then identifies
 * by its ID and registers with MTD. spinand must be loaded before.
 *
 * An operation costs controller_ns and the time of its bits on the lines. The
 * array's time passes beside: the driver asks the status register until it is
 * over, and sleeps in between, as it does on real boards.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/ktime.h>
#include <linux/module.h>

#include "spi.h"

#define NO_CHIPSELECT 0xff /* the SPI core's, which has it in no header */

static struct spi_chip spi_chip = {
	.params =
		{
			.lines = 4,
			.clock_khz = 104000,
			.id_skip = 1,
		},
};

#define PARAM(name, description)                                    \
	module_param_named(name, spi_chip.params.name, uint, 0444); \
	MODULE_PARM_DESC(name, description)

PARAM(lines, "Lines that carry data at most: 1, 2 or 4 (4)");
PARAM(clock_khz, "Clock of the bus in kHz (104000)");
PARAM(controller_ns,
      "Time in ns that the controller takes for an operation beside its bits "
      "(0)");
PARAM(id_skip, "Bytes that READ ID sends before the ID, 0 or 1 (1)");

static u32 clocks(u32 bytes, u8 lines)
{
	return bytes ? 8 * bytes / lines : 0;
}

/* The time from its first bit's clock to its last's, and the controller's. */
static u64 bus_ns(const struct spi_params *p, const struct spi_mem_op *op)
{
	u64 sum = clocks(op->cmd.nbytes, op->cmd.buswidth) +
		  clocks(op->addr.nbytes, op->addr.buswidth) +
		  clocks(op->dummy.nbytes, op->dummy.buswidth) +
		  clocks(op->data.nbytes, op->data.buswidth);

	return p->controller_ns +
	       div_u64(sum * 1000000 + p->clock_khz - 1, p->clock_khz);
}

static bool supports_op(struct spi_mem *mem, const struct spi_mem_op *op)
{
	unsigned int lines = spi_chip.params.lines;

	return spi_knows(op) && op->cmd.buswidth == 1 &&
	       op->addr.buswidth <= lines && op->dummy.buswidth <= lines &&
	       op->data.buswidth <= lines && !op->cmd.dtr && !op->addr.dtr &&
	       !op->dummy.dtr && !op->data.dtr;
}

/* Under the lock. Adds the time of bus and array to the chip's sum. */
static int run(struct spi_chip *spi, const struct spi_mem_op *op, u64 start_ns,
	       u64 ns)
{
	struct chip *chip = &spi->sim->chip;
	u64 all_ns;
	int err;

	chip->clock_ns = start_ns;
	if (!chip->powered) {
		spi->awake = false;
		return -EIO;
	}
	if (!spi->awake)
		spi_wake(spi);
	chip->elapsed_ns += ns;
	err = spi_run(spi, op, start_ns + ns);
	if (!err && chip->error) {
		err = chip->error; /* power was cut meanwhile */
		chip_error_told(chip);
	}
	all_ns = chip_take_ns(chip);
	if (all_ns > ns)
		spi->ready_ns = start_ns + all_ns;
	return err;
}

static int exec_op(struct spi_mem *mem, const struct spi_mem_op *op)
{
	struct spi_chip *spi = &spi_chip;
	struct simnand *sim = spi->sim;
	u64 ns = bus_ns(&spi->params, op);
	u64 start_ns = ktime_get_ns(), ended_ns;
	int err;

	mutex_lock(&sim->lock);
	sim->busy = true;
	err = run(spi, op, start_ns, ns);
	mutex_unlock(&sim->lock);
	ended_ns = wait_until_ns(start_ns + ns);
	mutex_lock(&sim->lock);
	sim->ended_ns = ended_ns;
	sim->late_ns += ended_ns - start_ns - ns;
	sim->busy = false;
	mutex_unlock(&sim->lock);
	return err;
}

static const struct spi_controller_mem_ops mem_ops = {
	.supports_op = supports_op,
	.exec_op = exec_op,
};

static int check_spi_params(const struct spi_chip *spi)
{
	const struct spi_params *p = &spi->params;
	const struct chip_params *chip = &spi->sim->params.chip;
	const char *why = NULL;

	if (p->lines != 1 && p->lines != 2 && p->lines != 4)
		why = "lines must be 1, 2 or 4";
	else if (p->clock_khz < 1000 || p->clock_khz > 1000000)
		why = "clock_khz must be from 1000 to 1000000";
	else if (p->id_skip > 1)
		why = "id_skip must be 0 or 1";
	else if (chip->writesize < 2048 || chip->bus_bits != 8)
		why = "behind SPI, pages have 2048 bytes or more, and bus_bits "
		      "is 8";
	if (why)
		pr_err("not loaded: %s\n", why);
	return why ? -EINVAL : 0;
}

/* The driver knows the chip by its ID alone, and must take it for what it
 * is. */
static int check_driver(const struct spi_chip *spi)
{
	const struct chip_params *p = &spi->sim->params.chip;
	const struct mtd_info *mtd = spi->mtd;
	u64 size = (u64)p->erasesize * p->blocks;

	if (!mtd) {
		pr_err("not loaded: the kernel's spinand did not take the chip "
		       "of ID %*phN: is spinand loaded, and is the part in its "
		       "tables?\n",
		       p->id_len, p->id);
		return -ENODEV;
	}
	if (mtd->writesize == p->writesize && mtd->oobsize == p->oobsize &&
	    mtd->erasesize == p->erasesize && mtd->size == size &&
	    mtd->ecc_strength == spi->sim->params.ecc_strength &&
	    mtd->ecc_step_size == spi->sim->params.ecc_step)
		return 0;
	pr_err("not loaded: the kernel's spinand takes ID %*phN for pages of "
	       "%u "
	       "+ %u bytes, blocks of %u, %llu in all, ECC of %u bits in %u: "
	       "another part of this kernel's tables\n",
	       p->id_len, p->id, mtd->writesize, mtd->oobsize, mtd->erasesize,
	       mtd->size, mtd->ecc_strength, mtd->ecc_step_size);
	return -EINVAL;
}

static void remove_controller(struct spi_chip *spi)
{
	if (spi->controller)
		spi_unregister_controller(spi->controller);
	spi->controller = NULL;
	spi->device = NULL;
	spi->mtd = NULL;
	spi_partition_stop();
	root_device_unregister(spi->parent);
}

static int add_controller(struct spi_chip *spi)
{
	struct spi_controller *controller =
		__spi_alloc_controller(spi->parent, 0, false);
	int err;

	if (!controller)
		return -ENOMEM;
	controller->bus_num = -1;
	controller->num_chipselect = 1;
	controller->mem_ops = &mem_ops;
	controller->mode_bits =
		SPI_TX_DUAL | SPI_TX_QUAD | SPI_RX_DUAL | SPI_RX_QUAD;
	controller->max_speed_hz = 1000 * spi->params.clock_khz;
	err = spi_register_controller(controller);
	if (err)
		spi_controller_put(controller);
	else
		spi->controller = controller;
	return err;
}

/* The device is there before its driver asks for partitions: it is added here
 * in two steps, as spi_new_device() does at once. */
static int add_device(struct spi_chip *spi)
{
	int err;

	spi->device = spi_alloc_device(spi->controller);
	if (!spi->device)
		return -ENOMEM;
	strscpy(spi->device->modalias, "spi-nand",
		sizeof(spi->device->modalias));
	spi->device->max_speed_hz = spi->controller->max_speed_hz;
#ifdef SPI_CS_CNT_MAX
	/* A device may have several chip selects here: this one has only 0. */
	for (u8 i = 1; i < SPI_CS_CNT_MAX; i++)
		spi_set_chipselect(spi->device, i, NO_CHIPSELECT);
	spi->device->cs_index_mask = BIT(0);
#endif
	err = spi_add_device(spi->device);
	if (err) {
		spi_dev_put(spi->device);
		spi->device = NULL;
	}
	return err;
}

/* The pins take no time, and PAGE READ always reads the array. */
static void prepare_chip(struct chip *chip)
{
	chip->params.t_rc_ns = 0;
	chip->params.t_wc_ns = 0;
	chip->params.register_hits = false;
}

int simnand_scan(struct simnand *sim)
{
	struct spi_chip *spi = &spi_chip;
	int err;

	spi->sim = sim;
	err = check_spi_params(spi);
	if (err)
		return err;
	prepare_chip(&sim->chip);
	spi->parent = root_device_register("simnand-spi");
	if (IS_ERR(spi->parent))
		return PTR_ERR(spi->parent);
	err = spi_partition_start(spi);
	if (!err)
		err = add_controller(spi);
	if (!err)
		err = add_device(spi);
	if (!err)
		err = check_driver(spi);
	if (err) {
		remove_controller(spi);
		return err;
	}
	/* While somebody uses the chip, this module stays. */
	spi->mtd->owner = THIS_MODULE;
	return 0;
}

/* What main.c does with a device that it registers itself. */
int spi_device_there(struct mtd_info *mtd, const char *const *types,
		     struct mtd_part_parser_data *data,
		     const struct mtd_partition *parts, int count)
{
	return 0;
}

int spi_device_gone(struct mtd_info *mtd)
{
	return 0;
}

void spi_chip_cleanup(struct nand_chip *nand)
{
	remove_controller(&spi_chip);
}

MODULE_SOFTDEP("pre: spinand");
