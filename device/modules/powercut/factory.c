// SPDX-License-Identifier: GPL-2.0-or-later
/* Blocks that the maker marked bad, by their numbers: simnand itself only draws
 * them by chance. They are marked as the chip is made, before any driver looks.
 */
#include <linux/module.h>

#include "chip.h"

static unsigned int bad[64], bad_count;
module_param_array(bad, uint, &bad_count, 0444);
MODULE_PARM_DESC(bad, "Blocks that the maker marked bad (none)");

/* The name that chip.c calls instead of faults_init(). */
void cut_faults_init(struct chip *chip);

void cut_faults_init(struct chip *chip)
{
	unsigned int i;

	faults_init(chip);
	for (i = 0; i < bad_count; i++)
		if (bad[i] < chip->params.blocks)
			chip->block[bad[i]].flags |= CHIP_FACTORY_BAD;
}
