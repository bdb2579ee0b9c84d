// SPDX-License-Identifier: GPL-2.0-or-later
#include "../memory.h"

const struct fault_kind fault_kind_nomemnow = {
	.name = "nomemnow",
	.what = "the kernel has no memory for allocation K of those that do "
		"not "
		"wait for it",
	.order = 14,
	.module = "nomem",
	.steps = ALLOCATIONS_MOST,
	.allocations = "now",
	MEMORY_KIND,
};
