// SPDX-License-Identifier: GPL-2.0-or-later
#include "../faults.h"

static int fail_program(const struct point *p)
{
	return journal_say("fail program %u", p->nth);
}

const struct fault_kind fault_kind_program = {
	.name = "program",
	.what = "that program fails, and its block is worn out",
	.order = 1,
	.strikes = "pob",
	.arm = fail_program,
	.struck = fault_wore_out,
};
