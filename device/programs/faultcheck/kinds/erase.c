// SPDX-License-Identifier: GPL-2.0-or-later
#include "../faults.h"

static int fail_erase(const struct point *p)
{
	return journal_say("fail erase %u", p->nth);
}

const struct fault_kind fault_kind_erase = {
	.name = "erase",
	.what = "that erase fails, and its block is worn out",
	.order = 2,
	.strikes = "e",
	.arm = fail_erase,
	.struck = fault_wore_out,
};
