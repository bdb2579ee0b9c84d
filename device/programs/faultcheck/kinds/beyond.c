// SPDX-License-Identifier: GPL-2.0-or-later
#include "../faults.h"

static int flip_bits(const struct point *p)
{
	return damage_page(p->k, 1, p->seed);
}

const struct fault_kind fault_kind_beyond = {
	.name = "beyond",
	.what = "one bit more is wrong, so that the page cannot be read",
	.order = 4,
	.unreadable = true,
	.strikes = "p",
	.damage = flip_bits,
};
