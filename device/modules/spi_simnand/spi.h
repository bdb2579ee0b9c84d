/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * simnand's chip as an SPI-NAND: it takes the commands of such parts in place
 * of a parallel bus's cycles. The chip's array, faults, counts and log are
 * simnand's own.
 *
 * The pins that its commands are translated to take no time. A command takes
 * the controller's own time and the time of its bits on the lines. Then the
 * array works on its own, and the status register says so until it is done.
 */
#ifndef SPI_SIMNAND_H
#define SPI_SIMNAND_H

#include <linux/mtd/partitions.h>
#include <linux/spi/spi-mem.h>
#include <linux/spi/spi.h>

#include "array.h"
#include "simnand.h"

/* The module's parameters beside simnand's. Set once, when it is loaded. */
struct spi_params {
	/* Lines that carry data at most: 1, 2 or 4. The kernel takes the
	 * fastest commands that need no more. */
	unsigned int lines;

	/* The bus's clock in kHz. */
	unsigned int clock_khz;

	/* Time in ns that the controller takes for each operation beside its
	 * bits. */
	unsigned int controller_ns;

	/* Bytes that READ ID sends before the ID: 1 if it takes an address or
	 * a dummy byte, as most parts do, else 0. */
	unsigned int id_skip;
};

struct spi_chip {
	struct spi_params params;
	struct simnand *sim;
	struct spi_controller *controller;
	struct spi_device *device;
	struct device *parent;
	struct mtd_info *mtd; /* the chip's master, once the kernel has it */

	/* Clock when the array is done; it is busy before. */
	u64 ready_ns;

	/* False: power has come, or was away, since the registers were set. */
	bool awake;
	bool write_enabled;
	u8 failed; /* STATUS_*_FAILED of the last program or erase */

	/* What the ECC did to the page in the register: the most bits that it
	 * corrected in a step, and whether it failed in any. */
	unsigned int corrected;
	bool uncorrectable;
};

/* Feature registers, and bits of them. */
enum {
	REG_LOCK = 0xa0,
	REG_CONFIG = 0xb0,
	REG_STATUS = 0xc0,
	REG_FLIPS = 0x30, /* Kioxia and Winbond: corrected bits, high nibble */
	LOCK_ALL = 0x38,
	CONFIG_ECC = 0x10,
	STATUS_BUSY = 0x01,
	STATUS_WRITE_ENABLED = 0x02,
	STATUS_ERASE_FAILED = 0x04,
	STATUS_PROGRAM_FAILED = 0x08,
};

/* commands.c: true if the chip has such a command. */
bool spi_knows(const struct spi_mem_op *op);

/* Carry out a command, the last bit of which crosses the bus at end_ns. Adds
 * the array's time to the chip's sum. 0 or an errno. */
int spi_run(struct spi_chip *spi, const struct spi_mem_op *op, u64 end_ns);

/* registers.c: what power brings, and what a register reads. */
void spi_wake(struct spi_chip *spi);
u8 spi_register(const struct spi_chip *spi, u8 number, u64 now_ns);

/* The bits of the status register that tell what the ECC did. */
u8 spi_ecc_status(const struct spi_chip *spi);

/* partition.c: the kernel gives the chip simnand's one partition. */
int spi_partition_start(struct spi_chip *spi);
void spi_partition_stop(void);

/* controller.c: what main.c of simnand calls in place of the raw NAND core. */
int spi_device_there(struct mtd_info *mtd, const char *const *types,
		     struct mtd_part_parser_data *data,
		     const struct mtd_partition *parts, int count);
int spi_device_gone(struct mtd_info *mtd);
void spi_chip_cleanup(struct nand_chip *nand);

#endif
