// SPDX-License-Identifier: GPL-2.0-or-later
#include "way.h"

const struct torn_way torn_way_before = {
	.name = "before",
	.page = "has not begun",
	.block = "has not begun",
	.tears = TEARS_NOTHING,
	.order = 1,
	.usual = true,
};
