/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * simnand: a simulated NAND chip behind the kernel's raw NAND framework.
 * What the module's own files share: its parameters and its one device.
 */
#ifndef SIMNAND_H
#define SIMNAND_H

#include <linux/mtd/rawnand.h>
#include <linux/mutex.h>

#include "chip.h"
#include "wait.h"

/* The module's parameters. Set once, when it is loaded. */
struct simnand_params {
	/* The chip, from its data sheet. */
	struct chip_params chip;

	/* Name of the MTD device of the whole chip. */
	char *name;

	/* Name of the MTD partition, if there is one. */
	char *partition_name;

	/* Blocks of the only MTD partition, from block 0; 0 registers the
	 * whole chip instead. */
	unsigned int partition_blocks;

	/* Bytes of data that the controller's ECC engine protects in one
	 * step; divides writesize. */
	unsigned int ecc_step;

	/* Bits that the engine corrects in a step; MTD reports this number. */
	unsigned int ecc_strength;

	/* Spare bytes that the engine uses for a step; 0: as many as the usual
	 * code for this step and strength needs. */
	unsigned int ecc_bytes;

	/* Physical address of the memory that holds the array, outside the
	 * memory that the kernel uses; 0 allocates kernel memory instead, a
	 * block at a time. */
	unsigned long long array_phys;

	/* File that the chip is loaded from (image.h); NULL or empty: none. */
	char *image;

	/* Records that the operation log has room for; 0: no log. */
	unsigned long long log_entries;

	struct wait_params wait;
};

struct simnand {
	struct simnand_params params;
	struct nand_controller controller;
	struct nand_chip nand;
	struct chip chip;
	struct nand_flash_dev ids[2];

	/* Memory at array_phys, or NULL. */
	void *array;

	/* Guards chip and the three fields below; not held while waiting. */
	struct mutex lock;
	u64 late_ns;  /* time that operations took beyond the chip's */
	u64 ended_ns; /* clock when the last operation ended */
	bool busy;    /* an operation is under way */

	/* Not locked: the NAND core lets in one caller at a time. See
	 * simnand_begin(). */
	unsigned int depth;
	u64 start_ns;

	struct dentry *dir;
};

/* rawnand.c: registers the chip with the NAND core, which uses it until
 * nand_cleanup(). */
int simnand_scan(struct simnand *sim);

/* Blocks that users see: those of the partition, or all. */
u32 simnand_blocks(const struct simnand *sim);

/* debugfs.c: the files to read. */
void simnand_debugfs_add(struct simnand *sim);
void simnand_debugfs_remove(struct simnand *sim);

/* control.c: the files that take commands. */
void simnand_control_add(struct simnand *sim);

/* imagefile.c: the chip's image as a file. simnand_image_load() returns 0, or
 * an errno and logs the reason. */
int simnand_image_load(struct simnand *sim);
void simnand_image_add(struct simnand *sim);

#endif
