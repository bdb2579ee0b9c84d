// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The module powercut: simnand, with all its parameters and files, and a
 * journal of what its operations change. For root, in
 * /sys/kernel/debug/simnand:
 *
 *   journal      written: a command; read: its state, a line "key value" each
 *
 *   journal_ops  a line for each recorded operation: kind, page, CRC-32 of what
 *                it left
 *
 *   journal_marks  a line for each mark: operations recorded before it, number
 *
 *   journal_ways  a line for each way to tear: name, what it leaves of a page,
 *                 what of a block that is erased ("-": it tears none), and
 *                 "unstable" or "-": its cells read the same each time; with
 *                 tabs between
 *
 *   chip_crc     CRC-32 of the chip as it is now, spare area included
 *
 * The commands:
 *
 *   record: record from now on; what was recorded is undone
 *
 *   mark N: note the number N in the recording
 *
 *   stop: what follows is a check
 *
 *   goto K WAY SEED: undo the check; the state after K operations, and
 *   operation K + 1 torn (torn.h)
 *
 *   back J WAY SEED: undo the check's operations but for the first J, and
 *   tear the next
 *
 *     fail program N           the N-th program from now on fails, and so does
 *                              its block ever after; likewise erase; 0: none
 *
 *     once program N           the N-th program from now on fails, and succeeds
 *                              if it is made again; likewise erase; read N: the
 *                              next read of page N; none 0: nothing does
 *
 *     disturb READS SEED       every block has been read so often since its
 *                              erase, and bits read wrong by that; 0: none do
 *
 *     replug                   the partition goes and comes again, so that what
 *                              looks for its medium once, as NFTL, looks anew
 *
 * No command costs flash time. Whoever changes the chip under a kernel must
 * have unmounted first; what the NAND core knows of the chip is set right here.
 *
 * journal_phys and journal_mib say where the journal lies: memory that the
 * kernel does not use, as for the cells.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/debugfs.h>
#include <linux/io.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/mtd/partitions.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>

#include "array.h"
#include "journal.h"
#include "once.h"
#include "simnand.h"
#include "torn.h"
#include "wait.h"

#define COMMAND_MAX 64

/* Of 10^12 bits so many more read wrong after each read of their block: some
 * hundred thousand reads then bring a step of 512 bytes to a wrong bit. */
#define DISTURB_PPT 100

static unsigned long long journal_phys;
module_param(journal_phys, ullong, 0444);
MODULE_PARM_DESC(journal_phys, "Physical address of the journal's memory");
static unsigned int journal_mib;
module_param(journal_mib, uint, 0444);
MODULE_PARM_DESC(journal_mib, "Size of the journal's memory in MiB (0)");

/* simnand's main.c calls these instead of its own. */
void powercut_add(struct simnand *sim);
void powercut_remove(struct simnand *sim);

static struct journal journal;
static const char *const kinds[] = {
	[JOURNAL_PROGRAM] = "program",
	[JOURNAL_OOB_PROGRAM] = "oob_program",
	[JOURNAL_MARK_BAD] = "mark_bad",
	[JOURNAL_ERASE] = "erase",
};

/* clock.h: simnand's clock. */
u64 powercut_now_ns(void);
u64 powercut_wait_until_ns(u64 deadline_ns);

u64 powercut_now_ns(void)
{
	return journal.mode == JOURNAL_CHECK ? 0 : ktime_get_ns();
}

u64 powercut_wait_until_ns(u64 deadline_ns)
{
	return journal.mode == JOURNAL_CHECK ? deadline_ns
					     : wait_until_ns(deadline_ns);
}

int powercut_read_page(struct nand_chip *nand, unsigned int page,
		       unsigned int at, void *to, unsigned int bytes);

int powercut_read_page(struct nand_chip *nand, unsigned int page,
		       unsigned int at, void *to, unsigned int bytes)
{
	return once_read_fails(page)
		       ? -EIO
		       : nand_read_page_op(nand, page, at, to, bytes);
}

/* The NAND core's table of bad blocks, two bits a block, as the markers on the
 * chip now say; and the page that it keeps of its last read. */
static void tell_core(struct simnand *sim)
{
	struct nand_chip *nand = &sim->nand;
	struct chip *chip = &sim->chip;
	u32 at = chip->params.writesize + (small_page(chip) ? 5 : 0);
	u32 block, page;
	u8 bad;

	nand->pagecache.page = -1;
	for (block = 0; nand->bbt && block < simnand_blocks(sim); block++) {
		bad = chip->block[block].flags & CHIP_FACTORY_BAD ? 3 : 0;
		page = block * chip->pages_per_block;
		if (chip->state[page] && cells_of(chip, page)[at] != 0xff)
			bad = 3;
		nand->bbt[block / 4] &= ~(3 << 2 * (block % 4));
		nand->bbt[block / 4] |= bad << 2 * (block % 4);
	}
}

static int move(struct simnand *sim, const char *words)
{
	unsigned long long seed;
	char where[8], name[16];
	unsigned int number;
	bool back;
	int err;

	if (sscanf(words, "%7s %u %15s %llu", where, &number, name, &seed) != 4)
		return -EINVAL;
	back = !strcmp(where, "back");
	if (!torn_way(name) || (!back && strcmp(where, "goto")))
		return -EINVAL;
	err = back ? journal_back(&journal, number)
		   : journal_goto(&journal, number);
	if (!err)
		err = torn_next(&journal, back, torn_way(name), seed);
	tell_core(sim);
	return err;
}

/* The N-th program or erase from now on fails; 0: neither. */
static int fail_later(struct chip *chip, const char *what, unsigned int n)
{
	struct fault_params *plan = &chip->params.faults;
	bool program = !strcmp(what, "program");

	if (!program && strcmp(what, "erase"))
		return -EINVAL;
	plan->program_fail_at = n && program ? chip->faults.programs + n : 0;
	plan->erase_fail_at = n && !program ? chip->faults.erases + n : 0;
	return 0;
}

/* Blocks that are erased later begin from none again. */
static int disturb(struct chip *chip, u32 reads, u64 seed)
{
	u32 block;

	chip->params.faults.flip_read_ppt = reads ? DISTURB_PPT : 0;
	chip->params.faults.seed = seed;
	for (block = 0; block < chip->params.blocks; block++)
		chip->block[block].disturb = reads;
	return 0;
}

static int command(struct simnand *sim, const char *words)
{
	unsigned long long seed;
	unsigned int mark;
	char what[8];
	int err;

	if (!strcmp(words, "record")) {
		err = journal_record(&journal);
		tell_core(sim);
		return err;
	}
	if (!strcmp(words, "stop"))
		return journal_stop(&journal);
	if (sscanf(words, "fail %7s %u", what, &mark) == 2)
		return fail_later(&sim->chip, what, mark);
	if (sscanf(words, "once %7s %u", what, &mark) == 2)
		return once_arm(what, mark);
	if (sscanf(words, "disturb %u %llu", &mark, &seed) == 2)
		return disturb(&sim->chip, mark, seed);
	if (sscanf(words, "mark %u", &mark) == 1)
		return journal_mark(&journal, mark);
	return move(sim, words);
}

/* MTD's users read the chip as it comes, so not under sim->lock. */
static int replug(struct simnand *sim)
{
	struct mtd_info *master = nand_to_mtd(&sim->nand), *mtd;
	u64 bytes =
		(u64)sim->params.partition_blocks * sim->params.chip.erasesize;
	int err;

	mtd = list_first_entry_or_null(&master->partitions, struct mtd_info,
				       part.node);
	err = mtd ? mtd_del_partition(master, mtd->index) : -ENODEV;
	return err ? err
		   : mtd_add_partition(master, sim->params.partition_name, 0,
				       bytes);
}

static ssize_t journal_write(struct file *file, const char __user *buf,
			     size_t bytes, loff_t *pos)
{
	struct simnand *sim = file_inode(file)->i_private;
	char words[COMMAND_MAX], *said;
	int err;

	if (bytes >= sizeof(words))
		return -EINVAL;
	if (copy_from_user(words, buf, bytes))
		return -EFAULT;
	words[bytes] = '\0';
	if (!journal.memory)
		return -ENXIO; /* journal_mib=0 */
	said = strim(words);
	if (!strcmp(said, "replug")) {
		err = replug(sim);
		return err ? err : bytes;
	}
	mutex_lock(&sim->lock);
	err = command(sim, said);
	mutex_unlock(&sim->lock);
	return err ? err : bytes;
}

static int state_show(struct seq_file *file, void *unused)
{
	struct simnand *sim = file->private;

	mutex_lock(&sim->lock);
	seq_printf(file, "recorded %u\nat %u\nchecked %u\nmarks %u\n",
		   journal.recorded, journal.at,
		   journal.entries - journal.recorded, journal.marks);
	seq_printf(file, "once_failed %u\n", once_has_failed());
	seq_printf(file, "used_bytes %llu\nbytes %llu\nlost %llu\n",
		   journal.used, journal.bytes, journal.lost);
	mutex_unlock(&sim->lock);
	return 0;
}

static int journal_open_file(struct inode *inode, struct file *file)
{
	return single_open(file, state_show, inode->i_private);
}

static const struct file_operations journal_fops = {
	.owner = THIS_MODULE,
	.open = journal_open_file,
	.read = seq_read,
	.write = journal_write,
	.llseek = seq_lseek,
	.release = single_release,
};

static int journal_ops_show(struct seq_file *file, void *unused)
{
	struct simnand *sim = file->private;
	const struct journal_entry *entry;
	u32 i;

	mutex_lock(&sim->lock);
	for (i = 0; (entry = journal_entry(&journal, i)); i++)
		seq_printf(file, "%s %u %08x\n", kinds[entry->kind],
			   entry->first, entry->crc);
	mutex_unlock(&sim->lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(journal_ops);

static int journal_marks_show(struct seq_file *file, void *unused)
{
	struct simnand *sim = file->private;
	const struct journal_mark *mark = (const void *)journal.memory;
	u32 i;

	mutex_lock(&sim->lock);
	for (i = 0; i < journal.marks; i++)
		seq_printf(file, "%u %u\n", mark[i].ops, mark[i].mark);
	mutex_unlock(&sim->lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(journal_marks);

static int journal_ways_show(struct seq_file *file, void *unused)
{
	const struct torn_way *const *way;

	for (way = torn_ways; *way; way++)
		seq_printf(file, "%s\t%s\t%s\t%s\n", (*way)->name,
			   (*way)->page ?: "-", (*way)->block ?: "-",
			   (*way)->unstable ? "unstable" : "-");
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(journal_ways);

static int chip_crc_show(struct seq_file *file, void *unused)
{
	struct simnand *sim = file->private;

	mutex_lock(&sim->lock);
	if (journal.memory)
		seq_printf(file, "%08x\n", journal_chip_crc(&journal));
	mutex_unlock(&sim->lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(chip_crc);

/* Without memory the journal stays shut, and says so to who writes to it. */
static void open_memory(struct simnand *sim)
{
	u64 bytes = (u64)journal_mib << 20;
	void *memory;

	if (!bytes)
		return;
	if (region_intersects(journal_phys, bytes, IORESOURCE_SYSTEM_RAM,
			      IORES_DESC_NONE) != REGION_DISJOINT ||
	    !request_mem_region(journal_phys, bytes, KBUILD_MODNAME)) {
		pr_err("journal_phys: the memory at %llx + %llu is taken\n",
		       journal_phys, bytes);
		return;
	}
	memory = memremap(journal_phys, bytes, MEMREMAP_WB);
	if (memory && !journal_open(&journal, &sim->chip, memory, bytes))
		return;
	pr_err("journal_phys: no memory at %llx + %llu, or too little\n",
	       journal_phys, bytes);
	if (memory)
		memunmap(memory);
	release_mem_region(journal_phys, bytes);
	journal.memory = NULL;
}

void powercut_add(struct simnand *sim)
{
	open_memory(sim);
	simnand_debugfs_add(sim);
	debugfs_create_file("journal", 0600, sim->dir, sim, &journal_fops);
	debugfs_create_file("journal_ops", 0400, sim->dir, sim,
			    &journal_ops_fops);
	debugfs_create_file("journal_marks", 0400, sim->dir, sim,
			    &journal_marks_fops);
	debugfs_create_file("journal_ways", 0400, sim->dir, sim,
			    &journal_ways_fops);
	debugfs_create_file("chip_crc", 0400, sim->dir, sim, &chip_crc_fops);
}

void powercut_remove(struct simnand *sim)
{
	simnand_debugfs_remove(sim);
	if (!journal.memory)
		return;
	journal_close(&journal);
	memunmap(journal.memory);
	release_mem_region(journal_phys, (u64)journal_mib << 20);
}
