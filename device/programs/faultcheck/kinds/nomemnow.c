// SPDX-License-Identifier: GPL-2.0-or-later
#include "../memory.h"

static int fail_allocation(const struct point *p)
{
	return memory_fail(p, "now");
}

const struct fault_kind fault_kind_nomemnow = {
	.name = "nomemnow",
	.what = "the kernel has no memory for allocation K of those that do "
		"not "
		"wait for it",
	.order = 14,
	.module = "nomem",
	.steps = ALLOCATIONS_MOST,
	.again = true,
	.prepare = memory_prepare,
	.begin = fail_allocation,
	.finish = memory_finish,
	.struck = memory_failed,
	.met = memory_failed,
	.note = memory_note,
};
