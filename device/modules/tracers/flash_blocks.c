// SPDX-License-Identifier: GPL-2.0-or-later
/* The view by block: operations on each block. */
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/vmalloc.h>

#include "flash.h"

static struct proc_dir_entry *blocks_file;

static void show_chip(struct seq_file *file, const struct flash_chip *chip)
{
	unsigned int shift =
		chip->nand->phys_erase_shift - chip->nand->page_shift;
	u32 i;

	for (i = 0; i < chip->blocks; i++) {
		const struct flash_block *block = &chip->block[i];
		u64 page = (u64)i << shift;

		if (page < chip->first_page || page >= chip->end_page)
			continue;
		seq_printf(file, "%u;%u;%u;%u;%u;%u;%u;%d\n",
			   flash_device_of(chip, page), i, block->reads,
			   block->programs, block->erases, block->oob_reads,
			   block->oob_programs, atomic_read(&block->hits));
	}
}

static int blocks_show(struct seq_file *file, void *unused)
{
	unsigned int i;

	seq_puts(file, "mtd;block;reads;programs;erases;oob_reads;"
		       "oob_programs;hits\n");
	mutex_lock(&flash_lock);
	for (i = 0; i < FLASH_CHIPS_MAX; i++)
		if (flash_chips[i].mtd)
			show_chip(file, &flash_chips[i]);
	mutex_unlock(&flash_lock);
	return 0;
}

void flash_blocks_status(struct seq_file *file, const struct flash_chip *chip)
{
	u64 reads = 0, programs = 0, erases = 0, oob_reads = 0;
	u64 oob_programs = 0, hits = 0;
	u32 i;

	for (i = 0; i < chip->blocks; i++) {
		reads += chip->block[i].reads;
		programs += chip->block[i].programs;
		erases += chip->block[i].erases;
		oob_reads += chip->block[i].oob_reads;
		oob_programs += chip->block[i].oob_programs;
		hits += atomic_read(&chip->block[i].hits);
	}
	seq_printf(file, "flashmon.reads %llu\n", reads);
	seq_printf(file, "flashmon.programs %llu\n", programs);
	seq_printf(file, "flashmon.erases %llu\n", erases);
	seq_printf(file, "flashmon.oob_reads %llu\n", oob_reads);
	seq_printf(file, "flashmon.oob_programs %llu\n", oob_programs);
	seq_printf(file, "flashmon.hits %llu\n", hits);
}

void flash_blocks_reset(struct flash_chip *chip)
{
	mutex_lock(&chip->nand->controller->lock);
	memset(chip->block, 0, chip->blocks * sizeof(*chip->block));
	mutex_unlock(&chip->nand->controller->lock);
}

int flash_blocks_init(void)
{
	blocks_file = proc_create_single("flashmon_blocks", 0400, tracers_dir,
					 blocks_show);
	return blocks_file ? 0 : -ENOMEM;
}

void flash_blocks_exit(void)
{
	proc_remove(blocks_file);
}
