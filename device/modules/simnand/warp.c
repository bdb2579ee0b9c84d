// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Virtual time: a clock source that reads the kernel's best one and adds a sum
 * to it. While it is the kernel's clock source, adding a flash operation's
 * latency to that sum moves every clock of the kernel by exactly that much:
 * nobody waits, and nobody can tell.
 *
 * Only timers could tell: the timer interrupt follows the hardware's own time,
 * which added time does not move. So time is never added past the next timer:
 * the clock moves to that timer's expiry, the timer fires, and then the rest is
 * added. Added time in which no timer expires leaves the interrupt set too late
 * by as much. When that reaches warp_slice_ns, the interrupt is set again.
 *
 * One CPU only: added time would be lost to whatever a second CPU runs.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/clocksource.h>
#include <linux/cpumask.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/printk.h>
#include <linux/string.h>

#ifdef CONFIG_X86_LOCAL_APIC
#include <asm/apic.h>
#include <asm/cpufeature.h>
#include <asm/irq_vectors.h>
#endif
#ifdef CONFIG_X86_TSC
#include <asm/tsc.h>
#endif

#include "wait.h"

/* Above every other clock source: the kernel's ratings end at 499
 * ("perfect"). */
#define WARP_RATING 1000

/* Our timer is set this long before the next one, so that it is the first and
 * the kernel sets the timer hardware. */
#define AHEAD_NS 1

/* More than it takes to set the interrupt (2 us at 4 ns an instruction). This
 * much of a latency is not added, so that it covers the setting. */
#define SETTING_NS 5000

static struct {
	struct clocksource *base;
	atomic64_t base_cycles; /* of base, extended to 64 bits */
	u64 base_start;		/* base_cycles when ours became the source */
	bool base_is_tsc;
	atomic64_t added_ns;
	u64 behind_ns; /* time added since the interrupt was last set */
	u64 slice_ns;
	struct hrtimer kick;
	bool kicked;
} warp;

/* The counter of base, extended beyond its width. Must be called at least once
 * before that counter wraps: the kernel's limit of idle time ensures it, which
 * warp_enable() takes over from base. */
static u64 notrace base_cycles(void)
{
	const u64 mask = warp.base->mask;
	u64 last = atomic64_read(&warp.base_cycles);
	u64 passed = (warp.base->read(warp.base) - last) & mask;

	if (passed > mask >> 2 && mask != CLOCKSOURCE_MASK(64))
		atomic64_cmpxchg(&warp.base_cycles, last, last + passed);
	return last + passed;
}

static __always_inline u64 to_ns(u64 cycles)
{
	return mul_u64_u32_shr(cycles - warp.base_start, warp.base->mult,
			       warp.base->shift) +
	       atomic64_read(&warp.added_ns);
}

/* Out of line: inlined, its calls would make the fast path save registers. */
static noinline u64 notrace read_other(void)
{
	return to_ns(base_cycles());
}

/* Counts in ns, so that time is added exactly. Tracers read it twice for each
 * event, so a TSC, which is 64 bits wide, is read inline. */
static u64 notrace warp_read(struct clocksource *cs)
{
#ifdef CONFIG_X86_TSC
	if (likely(warp.base_is_tsc))
		return to_ns(rdtsc_ordered());
#endif
	return read_other();
}

/*
 * We become the clock source: the next best is our base. The list is sorted,
 * and the clock source core holds its lock for us. Sources with a disable() are
 * skipped: they cannot be read while another is in use. The loop ends before
 * the list does, since jiffies is on it.
 *
 * From here on we also claim that we must be verified. Nobody will verify us,
 * since only registration puts a source on the watchdog's list. But without the
 * claim, the kernel would choose us, the best source that needs no watchdog, as
 * the watchdog of the others, and our added time would mark a TSC unstable.
 */
static int warp_enable(struct clocksource *cs)
{
	struct clocksource *base = cs;

	do
		base = list_next_entry(base, list);
	while (base->disable);
	if (!(base->flags & CLOCK_SOURCE_IS_CONTINUOUS))
		return -ENODEV;
	warp.base = base;
	warp.base_is_tsc = !strcmp(base->name, "tsc");
	warp.base_start = base->read(base);
	atomic64_set(&warp.base_cycles, warp.base_start);
	cs->max_idle_ns = min(cs->max_idle_ns, base->max_idle_ns);
	cs->flags |= CLOCK_SOURCE_MUST_VERIFY;
	return 0;
}

/* Somebody chose another source by hand: no time can be added, so really
 * wait. */
static void warp_disable(struct clocksource *cs)
{
	warp.base = NULL;
}

/* No owner: while in use, the clock source would pin our own module. Unloading
 * unregisters it, and the kernel then falls back to the next best. */
static struct clocksource warp_source = {
	.name = "simnand",
	.rating = WARP_RATING,
	.read = warp_read,
	.enable = warp_enable,
	.disable = warp_disable,
	.mask = CLOCKSOURCE_MASK(64),
	.flags = CLOCK_SOURCE_IS_CONTINUOUS,
};

static enum hrtimer_restart kicked(struct hrtimer *timer)
{
	WRITE_ONCE(warp.kicked, true);
	return HRTIMER_NORESTART;
}

/* Expiry of the first timer of this CPU, for which its interrupt is set. */
static u64 next_timer_ns(void)
{
	return READ_ONCE(warp.kick.base->cpu_base->expires_next);
}

/*
 * Raise the timer hardware's interrupt, without the hardware. For a real one, a
 * simulated board must set a timer and leave the guest, which takes a third of
 * the host's time under many short operations. True if the kernel then
 * processed its timers.
 */
static bool raise_timer_interrupt(void)
{
#ifdef CONFIG_X86_LOCAL_APIC
	u64 due_ns = next_timer_ns();

	if (boot_cpu_has(X86_FEATURE_APIC))
		apic->send_IPI_self(LOCAL_TIMER_VECTOR);
	return next_timer_ns() != due_ns;
#else
	return false;
#endif
}

/* If the interrupt cannot be raised directly, a timer long overdue makes the
 * kernel set its hardware to fire at once. */
u64 warp_fire_timers(void)
{
	warp.behind_ns = 0;
	if (!raise_timer_interrupt()) {
		WRITE_ONCE(warp.kicked, false);
		hrtimer_start(&warp.kick, 1, HRTIMER_MODE_ABS_PINNED_HARD);
		while (!READ_ONCE(warp.kicked))
			cpu_relax();
	}
	return ktime_get_ns();
}

/* Set the timer interrupt for the next timer, as the clock stands now. */
static void set_interrupt(void)
{
	hrtimer_start(&warp.kick, next_timer_ns() - AHEAD_NS,
		      HRTIMER_MODE_ABS_PINNED_HARD);
	warp.behind_ns = 0;
}

static void add_ns(u64 ns)
{
	atomic64_add(ns, &warp.added_ns);
	warp.behind_ns += ns;
}

bool warp_works(void)
{
	return READ_ONCE(warp.base);
}

u64 warp_added_ns(void)
{
	return atomic64_read(&warp.added_ns);
}

u64 warp_towards(u64 now_ns, u64 deadline_ns, bool timers_can_fire)
{
	u64 next_ns = next_timer_ns();

	if (timers_can_fire && next_ns < deadline_ns) {
		if (next_ns <= now_ns)
			return now_ns;
		add_ns(next_ns - now_ns);
		return next_ns;
	}
	if (timers_can_fire &&
	    warp.behind_ns + deadline_ns - now_ns >= warp.slice_ns &&
	    deadline_ns - now_ns > SETTING_NS) {
		add_ns(deadline_ns - now_ns - SETTING_NS);
		set_interrupt();
		now_ns = ktime_get_ns();
		if (now_ns >= deadline_ns)
			return now_ns;
	}
	add_ns(deadline_ns - now_ns);
	return deadline_ns;
}

int warp_start(u64 slice_ns)
{
	int err;

	if (num_online_cpus() > 1) {
		pr_err("wait=warp needs a board of one CPU, here are %u; "
		       "wait=sleep takes any\n",
		       num_online_cpus());
		return -EINVAL;
	}
	if (hrtimer_resolution != 1) {
		pr_err("wait=warp needs high-resolution timers; wait=sleep "
		       "does not\n");
		return -EINVAL;
	}
	warp.slice_ns = slice_ns;
	hrtimer_init(&warp.kick, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_HARD);
	warp.kick.function = kicked;
	err = clocksource_register_hz(&warp_source, NSEC_PER_SEC);
	if (!err && warp_works())
		return 0;
	if (!err)
		clocksource_unregister(&warp_source);
	pr_err("wait=warp: the kernel did not take our clock source; is "
	       "another one chosen by hand?\n");
	return err ?: -EBUSY;
}

void warp_stop(void)
{
	WARN_ON(clocksource_unregister(&warp_source));
	hrtimer_cancel(&warp.kick);
}
