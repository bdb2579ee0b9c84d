// SPDX-License-Identifier: GPL-2.0-or-later
#include "../faults.h"

static int fail_program(const struct point *p)
{
	return journal_say("once program %u", p->nth);
}

const struct fault_kind fault_kind_programonce = {
	.name = "programonce",
	.what = "that program fails, and would succeed if it were made again",
	.order = 9,
	.strikes = "pob",
	.arm = fail_program,
	.struck = fault_failed_once,
	.clear = fault_fail_none,
};
