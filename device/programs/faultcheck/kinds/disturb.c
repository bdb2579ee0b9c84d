// SPDX-License-Identifier: GPL-2.0-or-later
#include "../faults.h"

#define DISTURB_READS 20000u

static int disturb_blocks(const struct point *p)
{
	return journal_say("disturb %u %lu", (p->k + 1) * DISTURB_READS,
			   p->seed);
}

static int disturb_none(void)
{
	return journal_say("disturb 0 0");
}

const struct fault_kind fault_kind_disturb = {
	.name = "disturb",
	.what = "every block was read (K + 1) x 20,000 times since its erase",
	.order = 5,
	.unreadable = true,
	.damage = disturb_blocks,
	.clear = disturb_none,
};
