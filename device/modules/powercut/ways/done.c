// SPDX-License-Identifier: GPL-2.0-or-later
/* The state "before" of the operation after it. */
#include "way.h"

const struct torn_way torn_way_done = {
	.name = "done",
	.page = "complete; the file system was not told",
	.block = "complete; the file system was not told",
	.tears = TEARS_BOTH,
	.order = 6,
};
