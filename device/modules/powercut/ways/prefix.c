// SPDX-License-Identifier: GPL-2.0-or-later
#include "way.h"

static void leave_prefix(const struct tear *tear, u32 row, u8 *done)
{
	u32 bytes = tear->journal->chip->page_bytes;
	u32 upto = prng_below(draw(tear->seed, DRAW_HOW, row), bytes);

	memset(done + upto, 0, bytes - upto);
}

const struct torn_way torn_way_prefix = {
	.name = "prefix",
	.page = "bytes up to some column are done",
	.tears = TEARS_PROGRAMS,
	.order = 2,
	.usual = true,
	.program = leave_prefix,
};
