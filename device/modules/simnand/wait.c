// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How the time of a flash operation passes. The deadline is absolute, so the
 * time that the simulation itself took since the operation began is not added.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/hrtimer.h>
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/sched/stat.h>
#include <linux/string.h>

#include "wait.h"

/*
 * A shorter sleep would overrun by more than its length: the timer interrupt
 * and the way back to the sleeper took 14 to 17 us on the virtual board at 4 ns
 * an instruction. No array operation of a NAND chip is that short, so only bus
 * cycles alone (a status, an ID) are waited for by spinning, as a polling
 * driver does.
 */
#define SPIN_BELOW_NS 10000

enum wait_mode { WAIT_WARP, WAIT_SLEEP, WAIT_SPIN };

static const char *const mode_names[] = {
	[WAIT_WARP] = "warp",
	[WAIT_SLEEP] = "sleep",
	[WAIT_SPIN] = "spin",
};

static enum wait_mode mode;

static u64 spin_until(u64 deadline_ns)
{
	u64 now_ns;

	while ((now_ns = ktime_get_ns()) < deadline_ns)
		cpu_relax();
	return now_ns;
}

static u64 sleep_until(u64 deadline_ns)
{
	ktime_t expires = ns_to_ktime(deadline_ns);
	u64 now_ns;

	/* No signal and no slack: the chip answers neither early nor late. */
	do {
		set_current_state(TASK_UNINTERRUPTIBLE);
		schedule_hrtimeout(&expires, HRTIMER_MODE_ABS);
	} while ((now_ns = ktime_get_ns()) < deadline_ns);
	return now_ns;
}

static u64 doze_until(u64 now_ns, u64 deadline_ns, bool may_sleep)
{
	if (may_sleep && deadline_ns - now_ns >= SPIN_BELOW_NS)
		return sleep_until(deadline_ns);
	return spin_until(deadline_ns);
}

/*
 * If another thread is ready to run, sleep instead and leave the time to it.
 * Interrupts are off from this look until the clock is moved: one between them
 * may make a thread ready, which then waited for all of the time that is added.
 */
static u64 warp_until(u64 now_ns, u64 deadline_ns, bool may_sleep)
{
	unsigned long flags;

	while (now_ns < deadline_ns) {
		local_irq_save(flags);
		if (!warp_works() || (may_sleep && !single_task_running())) {
			local_irq_restore(flags);
			return doze_until(now_ns, deadline_ns, may_sleep);
		}
		now_ns = warp_towards(now_ns, deadline_ns, may_sleep);
		local_irq_restore(flags);
		if (now_ns < deadline_ns)
			now_ns = warp_fire_timers();
	}
	return now_ns;
}

u64 wait_until_ns(u64 deadline_ns)
{
	/* MTD users may write from an oops, where no other thread will run. */
	bool may_sleep = !oops_in_progress && !in_atomic() && !irqs_disabled();
	u64 now_ns = ktime_get_ns();

	if (now_ns >= deadline_ns)
		return now_ns;
	switch (mode) {
	case WAIT_WARP:
		return warp_until(now_ns, deadline_ns, may_sleep);
	case WAIT_SLEEP:
		return doze_until(now_ns, deadline_ns, may_sleep);
	default:
		return spin_until(deadline_ns);
	}
}

int wait_start(const struct wait_params *params)
{
	int found =
		match_string(mode_names, ARRAY_SIZE(mode_names), params->mode);

	if (found < 0) {
		pr_err("not loaded: wait must be warp, sleep or spin\n");
		return found;
	}
	mode = found;
	return mode == WAIT_WARP ? warp_start(params->warp_slice_ns) : 0;
}

void wait_stop(void)
{
	if (mode == WAIT_WARP)
		warp_stop();
}
