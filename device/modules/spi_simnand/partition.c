// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel's driver registers the whole chip and asks for partitions as a
 * kernel's command line names them. Of our chip the answer is simnand's one
 * partition; then the whole chip is no device of its own, as without SPI.
 */
#include <linux/module.h>
#include <linux/mtd/partitions.h>
#include <linux/slab.h>

#include "spi.h"

static struct spi_chip *ours;

static int parse(struct mtd_info *master, const struct mtd_partition **to,
		 struct mtd_part_parser_data *data)
{
	const struct simnand *sim = ours->sim;
	struct mtd_partition *part;

	if (!ours->device || master->dev.parent != &ours->device->dev)
		return 0;
	part = kzalloc(sizeof(*part), GFP_KERNEL);
	if (!part)
		return -ENOMEM;
	part->name = sim->params.partition_name;
	part->size = (u64)simnand_blocks(sim) * sim->params.chip.erasesize;
	ours->mtd = master;
	*to = part;
	return 1;
}

static struct mtd_part_parser parser = {
	.owner = THIS_MODULE,
	.name = "cmdlinepart", /* the first name that the kernel asks for */
	.parse_fn = parse,
};

int spi_partition_start(struct spi_chip *spi)
{
	ours = spi;
	return register_mtd_parser(&parser);
}

void spi_partition_stop(void)
{
	deregister_mtd_parser(&parser);
}
