// SPDX-License-Identifier: GPL-2.0-or-later
#include "../faults.h"

static int fail_read(const struct point *p)
{
	struct shape shape;
	uint32_t page = 0;
	int error;

	if (damage_shape(&shape))
		return -1;
	error = damage_find_page(p->k, shape.block / shape.page, &page);
	return error ? error : journal_say("once read %u", page);
}

const struct fault_kind fault_kind_readonce = {
	.name = "readonce",
	.what = "the next read of the page it wrote fails, and no other",
	.order = 11,
	.unreadable = true,
	.strikes = "p",
	.damage = fail_read,
	.met = fault_failed_once,
	.clear = fault_fail_none,
};
