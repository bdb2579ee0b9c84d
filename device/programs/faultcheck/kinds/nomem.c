// SPDX-License-Identifier: GPL-2.0-or-later
#include "../memory.h"

static int fail_allocation(const struct point *p)
{
	return memory_fail(p, "any");
}

const struct fault_kind fault_kind_nomem = {
	.name = "nomem",
	.what = "the kernel has no memory for allocation K of the load's "
		"calls, "
		"counted from 0",
	.order = 13,
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
