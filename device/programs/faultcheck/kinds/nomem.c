// SPDX-License-Identifier: GPL-2.0-or-later
#include "../memory.h"

const struct fault_kind fault_kind_nomem = {
	.name = "nomem",
	.what = "the kernel has no memory for allocation K of the load's "
		"calls, "
		"counted from 0",
	.order = 13,
	.module = "nomem",
	.steps = ALLOCATIONS_MOST,
	.allocations = "any",
	MEMORY_KIND,
};
