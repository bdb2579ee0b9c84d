// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The MTD partitions of the chip, by a table. What the chip tells of a
 * partition (its blocks, how many are erased, its pages with data) is of the
 * one that layout_chosen names.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/debugfs.h>
#include <linux/module.h>

#include "layout.h"

#define PARTS_MAX 16

static char *names[PARTS_MAX];
static unsigned int first[PARTS_MAX], blocks[PARTS_MAX];
static unsigned int parts_given, first_given, blocks_given;
static unsigned int chosen;

module_param_array_named(layout_names, names, charp, &parts_given, 0444);
MODULE_PARM_DESC(layout_names,
		 "Names of the MTD partitions, comma-separated, at most 16");
module_param_array_named(layout_first, first, uint, &first_given, 0444);
MODULE_PARM_DESC(layout_first, "First block of each of layout_names");
module_param_array_named(layout_blocks, blocks, uint, &blocks_given, 0444);
MODULE_PARM_DESC(layout_blocks, "Blocks of each of layout_names");
module_param_named(layout_chosen, chosen, uint, 0444);
MODULE_PARM_DESC(layout_chosen,
		 "Which of layout_names, from 0, the counters of a partition "
		 "are of (0)");

/* end: blocks up to which the chip's cells are kept. */
static const char *check_layout(u32 end)
{
	u64 last = 0;
	unsigned int i;

	if (!parts_given || first_given != parts_given ||
	    blocks_given != parts_given)
		return "layout_names, layout_first and layout_blocks must have "
		       "as many values, one at least";
	if (chosen >= parts_given)
		return "layout_chosen is none of layout_names";
	for (i = 0; i < parts_given; i++) {
		if (!*names[i] || !blocks[i])
			return "a partition has a name and a block at least";
		if (first[i] < last)
			return "partitions must be in order, none in another";
		last = (u64)first[i] + blocks[i];
	}
	if (last > end)
		return "layout_blocks reaches past partition_blocks";
	return NULL;
}

u32 layout_blocks_chosen(const struct simnand *sim)
{
	return blocks[chosen];
}

u64 layout_data_pages(const struct chip *chip, u32 of)
{
	return chip_data_pages(chip, first[chosen] + of) -
	       chip_data_pages(chip, first[chosen]);
}

u32 layout_erased_blocks(const struct chip *chip, u32 of)
{
	return chip_erased_blocks(chip, first[chosen] + of) -
	       chip_erased_blocks(chip, first[chosen]);
}

void layout_debugfs_add(struct simnand *sim)
{
	struct dentry *file;

	simnand_debugfs_add(sim);
	file = debugfs_lookup("blocks", sim->dir);
	debugfs_remove(file);
	dput(file);
}

int layout_register(struct mtd_info *mtd, const char *const *types,
		    struct mtd_part_parser_data *data,
		    const struct mtd_partition *parts, int count)
{
	static struct mtd_partition table[PARTS_MAX];
	const struct simnand *sim = nand_get_controller_data(mtd_to_nand(mtd));
	const char *why = check_layout(simnand_blocks(sim));
	unsigned int i;

	if (why) {
		pr_err("%s\n", why);
		return -EINVAL;
	}
	for (i = 0; i < parts_given; i++) {
		table[i].name = names[i];
		table[i].offset = (u64)first[i] * mtd->erasesize;
		table[i].size = (u64)blocks[i] * mtd->erasesize;
	}
	return mtd_device_parse_register(mtd, types, data, table, parts_given);
}
