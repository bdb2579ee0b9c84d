// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Loading and unloading: parameters, the array's memory, the MTD device.
 * Loading gives an erased chip, or that of an image; unloading discards it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/init.h>
#include <linux/io.h>
#include <linux/ioport.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mtd/partitions.h>
#include <linux/ratelimit.h>

#include "simnand.h"

/* By default a chip of 128 MiB like common SLC parts. */
static struct simnand simnand = {
	.params =
		{
			.chip =
				{
					.writesize = 2048,
					.oobsize = 64,
					.erasesize = 131072,
					.blocks = 1024,
					.bus_bits = 8,
					.nop = 4,
					.in_order = true,
					.id = {0x2c, 0xf1},
					.id_len = 2,
					.t_r_ns = 25000,
					.t_prog_ns = 200000,
					.t_bers_ns = 700000,
					.t_rc_ns = 20,
					.t_wc_ns = 20,
					.e_read_nj = -1,
					.e_prog_nj = -1,
					.e_erase_nj = -1,
					.register_hits = true,
				},
			.name = "simnand",
			.partition_name = "test",
			.ecc_step = 512,
			.ecc_strength = 4,
			.wait = {.mode = "warp", .warp_slice_ns = 100000},
		},
};

#define PARAM(name, field, type, description)                       \
	module_param_named(name, simnand.params.field, type, 0444); \
	MODULE_PARM_DESC(name, description)

PARAM(writesize, chip.writesize, uint,
      "Data bytes in a page, a power of two from 512 to 16384 (2048)");
PARAM(oobsize, chip.oobsize, uint, "Spare bytes of a page (64)");
PARAM(erasesize, chip.erasesize, uint,
      "Data bytes in an erase block, a power of two (131072)");
PARAM(blocks, chip.blocks, uint,
      "Erase blocks of the chip, a power of two (1024)");
PARAM(bus_bits, chip.bus_bits, uint, "Width of the bus in bits, 8 or 16 (8)");
PARAM(nop, chip.nop, uint,
      "Programs allowed on a page between two erases; 1 = no subpage writes "
      "(4)");
PARAM(in_order, chip.in_order, bool,
      "Count as illegal a program of a page below the last one programmed in "
      "its block (Y)");
PARAM(t_r_ns, chip.t_r_ns, uint, "Array read time tR in ns (25000)");
PARAM(t_prog_ns, chip.t_prog_ns, uint,
      "Page program time tPROG in ns (200000)");
PARAM(t_bers_ns, chip.t_bers_ns, uint, "Block erase time tBERS in ns (700000)");
PARAM(t_rc_ns, chip.t_rc_ns, uint,
      "One data cycle out of the chip, tRC in ns (20)");
PARAM(t_wc_ns, chip.t_wc_ns, uint,
      "One command, address or data cycle into the chip, tWC in ns (20)");
PARAM(jitter_ppm, chip.jitter_ppm, uint,
      "How far tR, tPROG and tBERS vary, plus or minus, uniformly, in "
      "millionths, at most 400000 (0)");
PARAM(jitter_seed, chip.jitter_seed, ullong, "Seed of that variation (0)");
PARAM(name, name, charp, "Name of the MTD device of the whole chip (simnand)");
PARAM(partition_blocks, partition_blocks, uint,
      "Blocks of the one MTD partition, from block 0; 0 = the whole chip and "
      "no partition (0)");
PARAM(partition_name, partition_name, charp,
      "Name of the MTD partition (test)");
PARAM(ecc_step, ecc_step, uint, "Data bytes in one step of the ECC (512)");
PARAM(ecc_strength, ecc_strength, uint,
      "Bits corrected in a step of the ECC, for MTD to report (4)");
PARAM(ecc_bytes, ecc_bytes, uint,
      "Spare bytes that a step of the ECC uses; 0 = as many as the usual code "
      "for this step and strength needs (0)");
PARAM(array_phys, array_phys, ullong,
      "Physical address of memory for the array, outside the kernel's own; 0 = "
      "kernel memory, block by block (0)");
PARAM(wait, wait.mode, charp,
      "How operations wait: warp, sleep or spin (warp)");
PARAM(warp_slice_ns, wait.warp_slice_ns, uint,
      "wait=warp: how late in ns a timer may fire at most because of time "
      "added before it; 0 = not at all (100000)");

PARAM(e_read_nj, chip.e_read_nj, int,
      "Energy of an array read in nJ; -1 = not known (-1)");
PARAM(e_prog_nj, chip.e_prog_nj, int,
      "Energy of a page program in nJ; -1 = not known (-1)");
PARAM(e_erase_nj, chip.e_erase_nj, int,
      "Energy of a block erase in nJ; -1 = not known (-1)");
PARAM(register_hits, chip.register_hits, bool,
      "A page that the last read left in the register is read again without "
      "tR (Y)");
PARAM(strict, chip.strict, bool,
      "An illegal program fails in its status and changes nothing (N)");
PARAM(bad_mark_pages, chip.bad_mark_pages, uint,
      "Pages of a block with the bad block marker: 1 first + 2 second + 4 "
      "last; "
      "0 = the kernel's choice for the vendor (0)");
PARAM(seed, chip.faults.seed, ullong,
      "Seed that decides what the faults strike (0)");
PARAM(bad_blocks, chip.faults.bad_blocks, uint,
      "Blocks of the chip that are factory-bad, never block 0 (0)");
PARAM(bad_block_ppm, chip.faults.bad_block_ppm, uint,
      "Chance in millionths of each further block to be factory-bad (0)");
PARAM(endurance, chip.faults.endurance, uint,
      "Erases that a block endures; 0 = any number (0)");
PARAM(endurance_spread, chip.faults.endurance_spread, uint,
      "Spread of endurance from block to block, +- percent (0)");
PARAM(program_fail_at, chip.faults.program_fail_at, ullong,
      "Number of the program that fails, from 1; 0 = none (0)");
PARAM(erase_fail_at, chip.faults.erase_fail_at, ullong,
      "Number of the erase that fails, from 1; 0 = none (0)");
PARAM(program_fail_ppb, chip.faults.program_fail_ppb, uint,
      "Chance in billionths of each program to fail (0)");
PARAM(erase_fail_ppb, chip.faults.erase_fail_ppb, uint,
      "Chance in billionths of each erase to fail (0)");
PARAM(flip_ppt, chip.faults.flip_ppt, uint,
      "Bits in 10^12 of a programmed page that read wrong (0)");
PARAM(flip_wear_ppt, chip.faults.flip_wear_ppt, uint,
      "Bits in 10^12 more at the rated endurance, in proportion to wear (0)");
PARAM(flip_read_ppt, chip.faults.flip_read_ppt, uint,
      "Bits in 10^12 more for each read of the block since its erase (0)");
PARAM(flip_day_ppt, chip.faults.flip_day_ppt, uint,
      "Bits in 10^12 more for each day since the page's program (0)");
PARAM(flip_day_wear_ppt, chip.faults.flip_day_wear_ppt, uint,
      "Bits in 10^12 more for each such day at the rated endurance, in "
      "proportion to wear (0)");
PARAM(power_cut_at, chip.faults.power_cut_at, ullong,
      "Number of the program or erase in which power is cut; 0 = none (0)");
PARAM(image, image, charp, "File to load the chip from (none)");
PARAM(log_entries, log_entries, ullong,
      "Records that the operation log has room for (0)");

module_param_array_named(id, simnand.params.chip.id, byte,
			 &simnand.params.chip.id_len, 0444);
MODULE_PARM_DESC(id, "READ ID bytes, 2 to 8, comma-separated (0x2c,0xf1)");

static const char *const trouble_text[] = {
	[CHIP_TOO_MANY_PROGRAMS] = "illegal, more programs than nop allows",
	[CHIP_OUT_OF_ORDER] =
		"illegal, a later page of the block is programmed",
	[CHIP_NOT_ERASED] = "illegal, programs bits that are not erased",
	[CHIP_OUT_OF_RANGE] = "illegal, no such page or a command cut short",
	[CHIP_NO_MEMORY] =
		"no memory for the array, program failed; set array_phys",
	[CHIP_PROGRAM_FAILED] = "fault, program failed",
	[CHIP_ERASE_FAILED] = "fault, erase failed",
	[CHIP_POWER_CUT] = "fault, power cut",
};

static void report_trouble(void *context, enum chip_trouble trouble, u32 block,
			   u32 page)
{
	pr_warn_ratelimited("block %u page %u: %s\n", block, page,
			    trouble_text[trouble]);
}

u32 simnand_blocks(const struct simnand *sim)
{
	return sim->params.partition_blocks ?: sim->params.chip.blocks;
}

/* A Hamming code corrects one bit with at most 24 check bits. A BCH code needs,
 * for each bit that it corrects, enough check bits to number the bits of a
 * step. */
static unsigned int usual_ecc_bytes(const struct simnand_params *p)
{
	if (p->ecc_strength == 1)
		return 3;
	return DIV_ROUND_UP(p->ecc_strength * fls(8 * p->ecc_step), 8);
}

static const char *check_ecc(const struct simnand_params *p)
{
	u64 total;

	if (!p->ecc_step || p->chip.writesize % p->ecc_step)
		return "ecc_step must divide writesize";
	if (p->ecc_strength < 1 || p->ecc_strength > 127)
		return "ecc_strength must be from 1 to 127";
	total = (u64)p->ecc_bytes * (p->chip.writesize / p->ecc_step);
	if (p->chip.oobsize == 8 && total != 3)
		return "an oobsize of 8 takes 3 ECC bytes a page in all";
	if (p->chip.oobsize == 16 && (total < 5 || total > 6))
		return "an oobsize of 16 takes 5 or 6 ECC bytes a page in all";
	if (p->chip.oobsize != 8 && p->chip.oobsize < 17 &&
	    p->chip.oobsize != 16)
		return "oobsize must be 8, 16, or more";
	if (p->chip.oobsize > 16 && 2 + 8 + total > p->chip.oobsize)
		return "the ECC bytes leave less than 8 of the spare area free";
	return NULL;
}

static const char *check_params(const struct simnand_params *p)
{
	const char *why = chip_check(&p->chip);

	if (!why)
		why = check_ecc(p);
	if (why)
		return why;
	if (p->partition_blocks > p->chip.blocks)
		return "partition_blocks is more than blocks";
	if (!p->name || !*p->name || !p->partition_name || !*p->partition_name)
		return "name and partition_name must not be empty";
	if (p->array_phys & ~PAGE_MASK)
		return "array_phys must be a multiple of the memory page size";
	return NULL;
}

/* Memory that is not there does not read back what was written. */
static bool memory_answers(void *at)
{
	u64 *word = at;

	WRITE_ONCE(*word, 0x5a5aa5a50f0ff0f0ULL);
	if (READ_ONCE(*word) != 0x5a5aa5a50f0ff0f0ULL)
		return false;
	WRITE_ONCE(*word, 0);
	return READ_ONCE(*word) == 0;
}

/* Only the blocks that users can reach are kept there: the chip may be larger
 * than the board's memory. */
static u64 mapped_bytes(const struct simnand *sim)
{
	return div_u64(chip_array_bytes(&sim->params.chip),
		       sim->params.chip.blocks) *
	       simnand_blocks(sim);
}

static int map_array(struct simnand *sim)
{
	resource_size_t at = sim->params.array_phys;
	u64 bytes = mapped_bytes(sim);

	if (region_intersects(at, bytes, IORESOURCE_SYSTEM_RAM,
			      IORES_DESC_NONE) != REGION_DISJOINT) {
		pr_err("array_phys: the kernel uses memory at %pa + %llu; boot "
		       "it with mem=\n",
		       &at, bytes);
		return -EBUSY;
	}
	if (!request_mem_region(at, bytes, KBUILD_MODNAME)) {
		pr_err("array_phys: %pa + %llu is taken, see /proc/iomem\n",
		       &at, bytes);
		return -EBUSY;
	}
	sim->array = memremap(at, bytes, MEMREMAP_WB);
	if (sim->array && memory_answers(sim->array) &&
	    memory_answers(sim->array + (bytes - 8)))
		return 0;
	pr_err("array_phys: no memory at %pa + %llu; has the machine that "
	       "much?\n",
	       &at, bytes);
	if (sim->array)
		memunmap(sim->array);
	sim->array = NULL;
	release_mem_region(at, bytes);
	return -ENXIO;
}

static void unmap_array(struct simnand *sim)
{
	if (!sim->array)
		return;
	memunmap(sim->array);
	sim->array = NULL;
	release_mem_region(sim->params.array_phys, mapped_bytes(sim));
}

static int add_chip(struct simnand *sim)
{
	int err = 0;

	if (sim->params.array_phys)
		err = map_array(sim);
	if (err)
		return err;
	err = chip_init(&sim->chip, &sim->params.chip, sim->array,
			report_trouble, sim);
	if (err)
		goto no_chip;
	if (sim->array)
		sim->chip.array_pages =
			simnand_blocks(sim) * sim->chip.pages_per_block;
	err = oplog_init(&sim->chip.log, sim->params.log_entries);
	if (err)
		pr_err("not loaded: no memory for %llu log entries\n",
		       sim->params.log_entries);
	else
		err = simnand_image_load(sim);
	if (!err)
		return 0;
	chip_exit(&sim->chip);
no_chip:
	unmap_array(sim);
	return err;
}

static void remove_chip(struct simnand *sim)
{
	chip_exit(&sim->chip);
	unmap_array(sim);
}

static int register_mtd(struct simnand *sim)
{
	struct mtd_partition part = {
		.name = sim->params.partition_name,
		.size = (u64)sim->params.partition_blocks *
			sim->params.chip.erasesize,
	};

	return mtd_device_register(nand_to_mtd(&sim->nand), &part,
				   sim->params.partition_blocks ? 1 : 0);
}

/* The kernel's search for bad blocks is done: counting starts here. */
static void start_counting(struct simnand *sim)
{
	mutex_lock(&sim->lock);
	chip_reset_counts(&sim->chip);
	sim->chip.scanning = false;
	sim->late_ns = 0;
	sim->ended_ns = ktime_get_ns();
	mutex_unlock(&sim->lock);
}

static int __init simnand_init(void)
{
	struct simnand *sim = &simnand;
	const char *why;
	int err;

	if (!sim->params.ecc_bytes)
		sim->params.ecc_bytes = usual_ecc_bytes(&sim->params);
	why = check_params(&sim->params);
	if (why) {
		pr_err("not loaded: %s\n", why);
		return -EINVAL;
	}
	mutex_init(&sim->lock);
	err = wait_start(&sim->params.wait);
	if (err)
		return err;
	err = add_chip(sim);
	if (err)
		goto no_chip;
	sim->chip.scanning = true;
	err = simnand_scan(sim);
	if (err) {
		pr_err("not loaded: the NAND core refused the chip (%d)\n",
		       err);
		goto no_scan;
	}
	start_counting(sim);
	err = register_mtd(sim);
	if (err) {
		pr_err("not loaded: MTD refused the device or its partition "
		       "(%d)\n",
		       err);
		goto no_mtd;
	}
	simnand_debugfs_add(sim);
	return 0;

no_mtd:
	nand_cleanup(&sim->nand);
no_scan:
	remove_chip(sim);
no_chip:
	wait_stop();
	return err;
}
module_init(simnand_init);

static void __exit simnand_exit(void)
{
	simnand_debugfs_remove(&simnand);
	WARN_ON(mtd_device_unregister(nand_to_mtd(&simnand.nand)));
	nand_cleanup(&simnand.nand);
	remove_chip(&simnand);
	wait_stop();
}
module_exit(simnand_exit);

MODULE_LICENSE("GPL");
MODULE_AUTHOR("The nandlab developers");
MODULE_DESCRIPTION("Simulated raw NAND chip with real latencies and counts");
