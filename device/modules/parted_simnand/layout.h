/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What simnand's own files call of this module by other names: see Kbuild. */
#ifndef PARTED_LAYOUT_H
#define PARTED_LAYOUT_H

#include <linux/mtd/partitions.h>

#include "simnand.h"

/* Blocks of the partition that is told of, its pages with data, its erased
 * blocks. */
u32 layout_blocks_chosen(const struct simnand *sim);
u64 layout_data_pages(const struct chip *chip, u32 blocks);
u32 layout_erased_blocks(const struct chip *chip, u32 blocks);

/* simnand's files in debugfs but "blocks", which would begin at block 0. */
void layout_debugfs_add(struct simnand *sim);

/* Registers the table's partitions of a chip instead of the one that is given;
 * -EINVAL, and a line in the log, for a table that the chip cannot have. */
int layout_register(struct mtd_info *mtd, const char *const *types,
		    struct mtd_part_parser_data *data,
		    const struct mtd_partition *parts, int count);

#endif
