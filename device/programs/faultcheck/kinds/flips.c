// SPDX-License-Identifier: GPL-2.0-or-later
#include "../faults.h"

static int flip_bits(const struct point *p)
{
	return damage_page(p->k, 0, p->seed);
}

const struct fault_kind fault_kind_flips = {
	.name = "flips",
	.what = "as many bits as the ECC corrects are wrong in the page it "
		"wrote",
	.order = 3,
	.strikes = "p",
	.damage = flip_bits,
};
