// SPDX-License-Identifier: GPL-2.0-or-later
#include "../faults.h"

static int fail_erase(const struct point *p)
{
	return journal_say("once erase %u", p->nth);
}

const struct fault_kind fault_kind_eraseonce = {
	.name = "eraseonce",
	.what = "that erase fails, and would succeed if it were made again",
	.order = 10,
	.strikes = "e",
	.arm = fail_erase,
	.struck = fault_failed_once,
	.clear = fault_fail_none,
};
