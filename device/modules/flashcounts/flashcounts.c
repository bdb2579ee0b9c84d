// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * flashcounts: what a partition of raw NAND did, told as simnand tells it of
 * its own chip: /sys/kernel/debug/simnand/counters and blocks. So whatever
 * reads these works on a real chip too.
 *
 *   insmod tracers.ko; insmod flashmon.ko
 *   echo mtd 1 > /proc/tracers/flashmon; echo start > /proc/tracers/flashmon
 *   flash_erase /dev/mtd1 0 0
 *   insmod flashcounts.ko mtd=1
 *
 * Flashmon sees the pages; this module looks at each record that it writes, by
 * a probe on record_write(). Erases have a probe of their own: flashmon writes
 * their records where no other probe is hit. All is counted from the moment
 * when it is loaded; the partition must be erased then, for only so are the
 * pages known that are programmed.
 *
 * What it does not know is not there: times of the chip, bytes on its bus,
 * reads that its register answered, blocks that wear out. "missed" counts
 * events that the kernel's probes missed: if it is not 0, all others are too
 * low.
 *
 * It costs a probe, one to two us on a small board, for each page and block,
 * beside flashmon's own, and causes no flash operation.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/mtd/mtd.h>
#include <linux/mtd/rawnand.h>
#include <linux/seq_file.h>
#include <linux/vmalloc.h>

#include "../tracers/compat.h"
#include "../tracers/records.h"

#define CALLS_MAX   8 /* erases under way at once */
#define FACTORY_BAD 1 /* simnand's flag */

struct block {
	u32 reads;
	u32 programs;
	u32 erases;
	u32 oob_reads;
	u32 oob_programs;
	bool bad;
	bool touched; /* something was programmed since the last erase */
};

struct erase_call {
	u32 block; /* of the partition */
};

static int mtd = -1;
module_param(mtd, int, 0400);
MODULE_PARM_DESC(mtd, "number of the partition's MTD device");

static struct mtd_info *part;
static struct nand_chip *nand;
static u64 first_page;
static u32 blocks, pages_per_block;
static struct block *block;
static unsigned long *has_data; /* a bit for each page */
static u64 reads, programs, erases, oob_reads, oob_programs, data_pages;
static u64 erases_ended; /* those that failed too */
static u64 ended_ns;
static DEFINE_SPINLOCK(lock);
static struct dentry *dir;

static void count_read(struct block *of, bool oob)
{
	if (oob) {
		oob_reads++;
		of->oob_reads++;
		return;
	}
	reads++;
	of->reads++;
}

static void count_program(struct block *of, u32 page, bool oob)
{
	of->touched = true;
	if (oob) {
		oob_programs++;
		of->oob_programs++;
		return;
	}
	programs++;
	of->programs++;
	data_pages += !__test_and_set_bit(page, has_data);
}

static void count_erase(u32 at)
{
	u32 page = at * pages_per_block, end = page + pages_per_block;

	erases++;
	block[at].erases++;
	block[at].touched = false;
	for (; page < end; page++)
		data_pages -= __test_and_clear_bit(page, has_data);
}

static int written(struct kprobe *probe, struct pt_regs *regs)
{
	const struct trace_record *r = (const void *)call_arg(regs, 0);
	unsigned long flags;
	u64 page;

	if (r->type != TRACE_FLASH_READ && r->type != TRACE_FLASH_PROGRAM)
		return 0;
	page = r->object - first_page;
	if (page >= (u64)blocks * pages_per_block)
		return 0;
	spin_lock_irqsave(&lock, flags);
	if (r->type == TRACE_FLASH_READ)
		count_read(&block[(u32)page / pages_per_block],
			   r->flags & TRACE_OOB);
	else
		count_program(&block[(u32)page / pages_per_block], page,
			      r->flags & TRACE_OOB);
	ended_ns = ktime_get_mono_fast_ns();
	spin_unlock_irqrestore(&lock, flags);
	return 0;
}
NOKPROBE_SYMBOL(written);

/* Drivers number blocks within a die. */
static int erase_begun(struct kretprobe_instance *instance,
		       struct pt_regs *regs)
{
	struct erase_call *call = (void *)instance->data;
	unsigned int shift = nand->phys_erase_shift - nand->page_shift;
	u64 page = (u64)(u32)call_arg(regs, 1) << shift;
	u64 die = max(nand->cur_cs, 0);

	if ((struct nand_chip *)call_arg(regs, 0) != nand)
		return 1;
	page += die * ((u64)nand->pagemask + 1) - first_page;
	call->block = page >> shift;
	return page >> shift >= blocks;
}
NOKPROBE_SYMBOL(erase_begun);

static int erase_ended(struct kretprobe_instance *instance,
		       struct pt_regs *regs)
{
	struct erase_call *call = (void *)instance->data;
	unsigned long flags;

	spin_lock_irqsave(&lock, flags);
	erases_ended++;
	if (!regs_return_value(regs))
		count_erase(call->block);
	ended_ns = ktime_get_mono_fast_ns();
	spin_unlock_irqrestore(&lock, flags);
	return 0;
}
NOKPROBE_SYMBOL(erase_ended);

static struct kprobe records = {
	.symbol_name = "tracers:record_write",
	.pre_handler = written,
};

static struct kretprobe erased = {
	.kp.symbol_name = "nand_erase_op",
	.entry_handler = erase_begun,
	.handler = erase_ended,
	.data_size = sizeof(struct erase_call),
	.maxactive = CALLS_MAX,
};

/* Flashmon's records of erases are among those that the probe of records cannot
 * see: one each. */
static u64 missed(void)
{
	u64 unseen = records.nmissed;

	unseen -= min(unseen, erases_ended);
	return unseen + erased.nmissed + erased.kp.nmissed;
}

static u32 erased_blocks(void)
{
	u32 i, n = 0;

	for (i = 0; i < blocks; i++)
		n += !block[i].touched && !block[i].bad;
	return n;
}

static void show(struct seq_file *file, const char *name, u64 value)
{
	seq_printf(file, "%s %llu\n", name, value);
}

static int counters_show(struct seq_file *file, void *unused)
{
	spin_lock_irq(&lock);
	show(file, "reads", reads);
	show(file, "programs", programs);
	show(file, "erases", erases);
	show(file, "oob_reads", oob_reads);
	show(file, "oob_programs", oob_programs);
	show(file, "missed", missed());
	show(file, "idle_ns", ktime_get_mono_fast_ns() - ended_ns);
	show(file, "partition_pages", (u64)blocks * pages_per_block);
	show(file, "pages_programmed", data_pages);
	show(file, "blocks_erased", erased_blocks());
	show(file, "pages_per_block", pages_per_block);
	show(file, "blocks", blocks);
	show(file, "page_size", part->writesize);
	show(file, "oob_size", part->oobsize);
	spin_unlock_irq(&lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(counters);

/* Simnand's columns; "-" stands for what is not known here. */
static int blocks_show(struct seq_file *file, void *unused)
{
	const struct block *b;
	u32 i;

	spin_lock_irq(&lock);
	for (i = 0; i < blocks; i++) {
		b = &block[i];
		seq_printf(file, "%u %u %u %u %u %u - - - - %u %u\n", i,
			   b->reads, b->programs, b->erases, b->oob_reads,
			   b->oob_programs, b->erases,
			   b->bad ? FACTORY_BAD : 0);
	}
	spin_unlock_irq(&lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(blocks);

static int measure(void)
{
	struct mtd_info *master = mtd_get_master(part);
	u32 i;

	if (master->type != MTD_NANDFLASH && master->type != MTD_MLCNANDFLASH)
		return -ENODEV;
	nand = mtd_to_nand(master);
	pages_per_block = part->erasesize / part->writesize;
	blocks = div_u64(part->size, part->erasesize);
	first_page = mtd_get_master_ofs(part, 0) >> nand->page_shift;
	block = vzalloc(array_size(blocks, sizeof(*block)));
	has_data = vzalloc(BITS_TO_LONGS((size_t)blocks * pages_per_block) *
			   sizeof(long));
	if (!block || !has_data)
		return -ENOMEM;
	for (i = 0; i < blocks; i++)
		block[i].bad =
			mtd_block_isbad(part, (loff_t)i * part->erasesize) > 0;
	return 0;
}

static void forget(void)
{
	vfree(block);
	vfree(has_data);
	put_mtd_device(part);
}

static int watch(void)
{
	int err = register_kretprobe(&erased);

	if (err)
		return err;
	err = register_kprobe(&records);
	if (err) {
		unregister_kretprobe(&erased);
		pr_err("flashcounts: load tracers.ko and flashmon.ko first\n");
		return err;
	}
	return 0;
}

static int __init flashcounts_init(void)
{
	int err;

	part = get_mtd_device(NULL, mtd);
	if (IS_ERR(part))
		return PTR_ERR(part);
	err = measure();
	ended_ns = ktime_get_mono_fast_ns();
	if (!err)
		err = watch();
	if (err) {
		forget();
		return err;
	}
	dir = debugfs_create_dir("simnand", NULL);
	debugfs_create_file("counters", 0400, dir, NULL, &counters_fops);
	debugfs_create_file("blocks", 0400, dir, NULL, &blocks_fops);
	return 0;
}

static void __exit flashcounts_exit(void)
{
	debugfs_remove_recursive(dir);
	unregister_kprobe(&records);
	unregister_kretprobe(&erased);
	forget();
}

module_init(flashcounts_init);
module_exit(flashcounts_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Tells what a NAND partition did as simnand tells it");
