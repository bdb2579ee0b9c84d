// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the chip did, for root, in /sys/kernel/debug/simnand: counters, one of
 * them alone, blocks, phases, state and the operation log. Reading costs no
 * flash time and moves no counter.
 */
#include <linux/debugfs.h>
#include <linux/ktime.h>
#include <linux/seq_file.h>

#include "simnand.h"

/* By the kernel's own shortcut: programs read these files at each phase, and
 * the formats of seq_printf() cost three times as much. */
static void show(struct seq_file *file, const char *key, u64 value)
{
	seq_puts(file, key);
	seq_put_decimal_ull(file, " ", value);
	seq_putc(file, '\n');
}

/* Energy that the data sheet does not give is unknown, not 0: no line for
 * it. */
static bool energy_known(const struct chip_params *p)
{
	return p->e_read_nj >= 0 && p->e_prog_nj >= 0 && p->e_erase_nj >= 0;
}

static bool is_energy(unsigned int kind)
{
	return kind == offsetof(struct chip_counts, energy_nj) / sizeof(u64);
}

static void show_counts(struct seq_file *file, const struct simnand *sim,
			const struct chip_counts *counts, char separator)
{
	bool energy = energy_known(&sim->chip.params);
	unsigned int i;

	for (i = 0; i < CHIP_COUNT_KINDS; i++) {
		if (!energy && is_energy(i))
			continue;
		seq_puts(file, chip_count_names[i]);
		seq_putc(file, separator);
		seq_put_decimal_ull(file, "", chip_count_at(counts, i));
		seq_putc(file, separator == ' ' ? '\n' : ' ');
	}
}

static u32 count_flagged(const struct chip *chip, u32 flag)
{
	u32 i, n = 0;

	for (i = 0; i < chip->params.blocks; i++)
		n += !!(chip->block[i].flags & flag);
	return n;
}

static void show_state(struct seq_file *file, const struct chip *chip)
{
	show(file, "op_seq", chip->op_seq);
	show(file, "powered", chip->powered);
	show(file, "factory_bad", count_flagged(chip, CHIP_FACTORY_BAD));
	show(file, "worn_out", count_flagged(chip, CHIP_WORN_OUT));
	show(file, "log_records", chip->log.count);
	show(file, "log_lost", chip->log.lost);
}

static int counters_show(struct seq_file *file, void *unused)
{
	struct simnand *sim = file->private;
	struct chip *chip = &sim->chip;
	u32 blocks = simnand_blocks(sim);

	mutex_lock(&sim->lock);
	show_counts(file, sim, &chip->counts, ' ');
	show_state(file, chip);
	show(file, "late_ns", sim->late_ns);
	show(file, "idle_ns", sim->busy ? 0 : ktime_get_ns() - sim->ended_ns);
	show(file, "warped_ns", warp_added_ns());
	show(file, "partition_pages", (u64)blocks * chip->pages_per_block);
	show(file, "pages_programmed", chip_data_pages(chip, blocks));
	show(file, "blocks_erased", chip_erased_blocks(chip, blocks));
	show(file, "pages_per_block", chip->pages_per_block);
	show(file, "blocks", blocks);
	show(file, "page_size", chip->params.writesize);
	show(file, "oob_size", chip->params.oobsize);
	mutex_unlock(&sim->lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(counters);

/* Of the counters the one that fills of a chip read in a loop, with pread(). */
static int pages_programmed_show(struct seq_file *file, void *unused)
{
	struct simnand *sim = file->private;

	mutex_lock(&sim->lock);
	seq_put_decimal_ull(file, "",
			    chip_data_pages(&sim->chip, simnand_blocks(sim)));
	mutex_unlock(&sim->lock);
	seq_putc(file, '\n');
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(pages_programmed);

/* What a line of the file "blocks" has, in order, after the block's number. */
static const size_t block_columns[] = {
	offsetof(struct chip_block, reads),
	offsetof(struct chip_block, programs),
	offsetof(struct chip_block, erases),
	offsetof(struct chip_block, oob_reads),
	offsetof(struct chip_block, oob_programs),
	offsetof(struct chip_block, subpage_programs),
	offsetof(struct chip_block, raw_reads),
	offsetof(struct chip_block, raw_programs),
	offsetof(struct chip_block, buffer_hits),
	offsetof(struct chip_block, wear),
	offsetof(struct chip_block, flags),
};

static int blocks_show(struct seq_file *file, void *unused)
{
	struct simnand *sim = file->private;
	const void *block;
	u32 i, column;

	mutex_lock(&sim->lock);
	for (i = 0; i < simnand_blocks(sim); i++) {
		block = &sim->chip.block[i];
		seq_put_decimal_ull(file, "", i);
		for (column = 0; column < ARRAY_SIZE(block_columns); column++)
			seq_put_decimal_ull(
				file, " ",
				*(const u32 *)(block + block_columns[column]));
		seq_putc(file, '\n');
	}
	mutex_unlock(&sim->lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(blocks);

static int phases_show(struct seq_file *file, void *unused)
{
	struct simnand *sim = file->private;
	struct phases *phases = &sim->chip.phases;
	const struct phase *phase;
	u64 end_ns;
	u32 i;

	mutex_lock(&sim->lock);
	phases_update(phases, &sim->chip.counts);
	for (i = 0; i < phases->count; i++) {
		phase = &phases->phase[i];
		end_ns = phases->open && i == phases->count - 1 ? ktime_get_ns()
								: phase->end_ns;
		seq_printf(file, "%u %s start_ns=%llu end_ns=%llu ", i + 1,
			   phase->name, phase->start_ns, end_ns);
		show_counts(file, sim, &phase->counts, '=');
		seq_putc(file, '\n');
	}
	mutex_unlock(&sim->lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(phases);

static void list_blocks(struct seq_file *file, const struct chip *chip,
			const char *key, u32 flag)
{
	const char *comma = "";
	u32 i;

	seq_printf(file, " \"%s\": [", key);
	for (i = 0; i < chip->params.blocks; i++) {
		if (!(chip->block[i].flags & flag))
			continue;
		seq_printf(file, "%s%u", comma, i);
		comma = ", ";
	}
	seq_puts(file, "],\n");
}

/* In JSON, what the sidecar of an image says. */
static int state_show(struct seq_file *file, void *unused)
{
	struct simnand *sim = file->private;
	const struct chip *chip = &sim->chip;
	const struct chip_params *p = &chip->params;
	u32 i;

	mutex_lock(&sim->lock);
	seq_printf(file,
		   "{\"format\": 1, \"writesize\": %u, \"oobsize\": %u,\n"
		   " \"erasesize\": %u, \"blocks\": %u, \"op_seq\": %llu,\n",
		   p->writesize, p->oobsize, p->erasesize, p->blocks,
		   chip->op_seq);
	list_blocks(file, chip, "factory_bad", CHIP_FACTORY_BAD);
	list_blocks(file, chip, "worn_out", CHIP_WORN_OUT);
	seq_puts(file, " \"wear\": [");
	for (i = 0; i < p->blocks; i++)
		seq_printf(file, "%s%u", i ? ", " : "", chip->block[i].wear);
	seq_puts(file, "]}\n");
	mutex_unlock(&sim->lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(state);

static ssize_t log_read(struct file *file, char __user *buf, size_t bytes,
			loff_t *pos)
{
	struct simnand *sim = file->private_data;
	const struct oplog *log = &sim->chip.log;
	struct oplog_header header = {
		.magic = OPLOG_MAGIC,
		.version = OPLOG_VERSION,
		.record_bytes = sizeof(struct oplog_record),
	};
	loff_t at;
	ssize_t got;

	mutex_lock(&sim->lock);
	header.records = log->count;
	header.lost = log->lost;
	if (*pos < sizeof(header)) {
		got = simple_read_from_buffer(buf, bytes, pos, &header,
					      sizeof(header));
	} else {
		at = *pos - sizeof(header);
		got = simple_read_from_buffer(buf, bytes, &at, log->record,
					      log->count *
						      sizeof(*log->record));
		*pos = at + sizeof(header);
	}
	mutex_unlock(&sim->lock);
	return got;
}

static const struct file_operations log_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = log_read,
	.llseek = default_llseek,
};

void simnand_debugfs_add(struct simnand *sim)
{
	sim->dir = debugfs_create_dir("simnand", NULL);
	debugfs_create_file("counters", 0400, sim->dir, sim, &counters_fops);
	debugfs_create_file("pages_programmed", 0400, sim->dir, sim,
			    &pages_programmed_fops);
	debugfs_create_file("blocks", 0400, sim->dir, sim, &blocks_fops);
	debugfs_create_file("phases", 0400, sim->dir, sim, &phases_fops);
	debugfs_create_file("state", 0400, sim->dir, sim, &state_fops);
	debugfs_create_file("log", 0400, sim->dir, sim, &log_fops);
	simnand_control_add(sim);
	simnand_image_add(sim);
}

void simnand_debugfs_remove(struct simnand *sim)
{
	debugfs_remove_recursive(sim->dir);
}
