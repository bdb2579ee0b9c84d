// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How the time of a flash operation passes. The deadline is absolute, so what
 * the simulation itself cost since the operation began is not added to it.
 */
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/sched.h>

#include "simnand.h"

/*
 * Below this a sleep would end later than it lasts: the timer interrupt and
 * the way back to the sleeper took 14 to 17 us on the virtual board at 4 ns an
 * instruction. No array operation of a NAND chip is that short, so only bus
 * cycles alone (a status, an ID) are spun for, as a polling driver would.
 */
#define SPIN_BELOW_NS 10000

static void spin_until(u64 deadline_ns)
{
	while (ktime_get_ns() < deadline_ns)
		cpu_relax();
}

static void sleep_until(u64 deadline_ns)
{
	ktime_t expires = ns_to_ktime(deadline_ns);

	/* No signal and no slack: the chip answers neither early nor late. */
	do {
		set_current_state(TASK_UNINTERRUPTIBLE);
		schedule_hrtimeout(&expires, HRTIMER_MODE_ABS);
	} while (ktime_get_ns() < deadline_ns);
}

/* MTD users may write from an oops, where nobody else will run. */
static bool may_sleep(void)
{
	return !oops_in_progress && !in_atomic() && !irqs_disabled();
}

void wait_until_ns(u64 deadline_ns)
{
	u64 now_ns = ktime_get_ns();

	if (now_ns >= deadline_ns)
		return;
	if (deadline_ns - now_ns >= SPIN_BELOW_NS && may_sleep())
		sleep_until(deadline_ns);
	else
		spin_until(deadline_ns);
}
