// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the chip did, for root, in /sys/kernel/debug/simnand: counters, blocks,
 * and reset. Reading costs no flash time and moves no counter.
 */
#include <linux/debugfs.h>
#include <linux/ktime.h>
#include <linux/seq_file.h>

#include "simnand.h"

static void show(struct seq_file *file, const char *key, u64 value)
{
	seq_printf(file, "%s %llu\n", key, value);
}

static void show_counts(struct seq_file *file, const struct chip_counts *n)
{
	show(file, "reads", n->reads);
	show(file, "programs", n->programs);
	show(file, "erases", n->erases);
	show(file, "oob_reads", n->oob_reads);
	show(file, "oob_programs", n->oob_programs);
	show(file, "subpage_programs", n->subpage_programs);
	show(file, "illegal", n->illegal);
	show(file, "bytes_read", n->bytes_read);
	show(file, "bytes_written", n->bytes_written);
}

static int counters_show(struct seq_file *file, void *unused)
{
	struct simnand *sim = file->private;
	struct chip *chip = &sim->chip;
	u32 blocks = simnand_blocks(sim);

	mutex_lock(&sim->lock);
	show_counts(file, &chip->counts);
	show(file, "busy_ns", sim->busy_ns);
	show(file, "late_ns", sim->late_ns);
	show(file, "idle_ns", sim->busy ? 0 : ktime_get_ns() - sim->ended_ns);
	show(file, "partition_pages", (u64)blocks * chip->pages_per_block);
	show(file, "pages_programmed", chip_data_pages(chip, blocks));
	show(file, "pages_per_block", chip->pages_per_block);
	show(file, "blocks", blocks);
	show(file, "page_size", chip->params.writesize);
	show(file, "oob_size", chip->params.oobsize);
	mutex_unlock(&sim->lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(counters);

static int blocks_show(struct seq_file *file, void *unused)
{
	struct simnand *sim = file->private;
	const struct chip_block *block;
	u32 i;

	mutex_lock(&sim->lock);
	for (i = 0; i < simnand_blocks(sim); i++) {
		block = &sim->chip.block[i];
		seq_printf(file, "%u %u %u %u %u %u\n", i, block->reads,
			   block->programs, block->erases, block->oob_reads,
			   block->oob_programs);
	}
	mutex_unlock(&sim->lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(blocks);

static ssize_t reset_write(struct file *file, const char __user *buf,
			   size_t bytes, loff_t *pos)
{
	struct simnand *sim = file->private_data;

	mutex_lock(&sim->lock);
	chip_reset_counts(&sim->chip);
	sim->busy_ns = 0;
	sim->late_ns = 0;
	mutex_unlock(&sim->lock);
	return bytes;
}

static const struct file_operations reset_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = reset_write,
};

void simnand_debugfs_add(struct simnand *sim)
{
	sim->dir = debugfs_create_dir("simnand", NULL);
	debugfs_create_file("counters", 0400, sim->dir, sim, &counters_fops);
	debugfs_create_file("blocks", 0400, sim->dir, sim, &blocks_fops);
	debugfs_create_file("reset", 0200, sim->dir, sim, &reset_fops);
}

void simnand_debugfs_remove(struct simnand *sim)
{
	debugfs_remove_recursive(sim->dir);
}
