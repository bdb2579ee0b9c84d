// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Virtual time: a clock source that reads the kernel's best one plus all the
 * time that has been added to it. While it is the kernel's clock source, adding
 * a flash operation's latency moves every clock of the kernel by just that
 * much: nobody waits, and nobody can tell.
 *
 * What could tell are timers: the timer interrupt counts on the hardware's own
 * time, which time added does not move. So time is never added past a timer
 * that is due: it goes on to that timer's instant, the timer fires there, and
 * then the rest is added. What the interrupt is behind by in between, because
 * time was added that no timer fell in, is limited to warp_slice_ns: then it is
 * set anew.
 *
 * One CPU only: on a second one, time would pass that it did not have.
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

/* Above any of a machine: the kernel's own end at 499 ("perfect"). */
#define WARP_RATING 1000

/* The interrupt is set to so little before the next timer: enough to be the
 * first of them, so that the kernel sets its timer hardware. */
#define AHEAD_NS 1

/* More than it takes to set the interrupt (2 us at 4 ns an instruction): this
 * much of a latency is kept back, so that the setting is hidden in it. */
#define SETTING_NS 5000

static struct {
	struct clocksource *base;
	atomic64_t base_cycles; /* of base, extended to 64 bits */
	u64 base_start;		/* of these, when ours became the source */
	bool base_is_tsc;
	atomic64_t added_ns;
	u64 behind_ns; /* time added since the interrupt was last set */
	u64 slice_ns;
	struct hrtimer kick;
	bool kicked;
} warp;

/* Base's counter beyond its width. Needs a call at least once in a turn of
 * it: the kernel's own idle limit, which enable() passes on, sees to it. */
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

/* Out of line: a call inside would cost the usual way the saving of registers.
 */
static noinline u64 notrace read_other(void)
{
	return to_ns(base_cycles());
}

/* In ns, so that what is added is added exactly. Whoever traces reads it twice
 * for each event: a TSC, which is 64 bits wide, is read here and now. */
static u64 notrace warp_read(struct clocksource *cs)
{
#ifdef CONFIG_X86_TSC
	if (likely(warp.base_is_tsc))
		return to_ns(rdtsc_ordered());
#endif
	return read_other();
}

/*
 * Becoming the clock source: the next best is our base. The list is sorted, and
 * the clock source core holds its lock for us; sources that stop when another
 * is in use cannot be read on. The end of the list is never met, jiffies being
 * one of them.
 *
 * From here on we also say that we must be verified. We are not, since only
 * registration puts a source on the watchdog's list, but nor will we be taken
 * for the watchdog that the others are judged by, as the best of those that
 * need none. A TSC would lose its good name for our time.
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

/* Somebody chose another by hand: time is added to nothing, so wait again. */
static void warp_disable(struct clocksource *cs)
{
	warp.base = NULL;
}

/* No owner: as the clock source in use we would hold our own module. Unloading
 * unregisters, and the kernel then goes back to the next best. */
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

/* The first of all timers of this CPU, as its interrupt knows it. */
static u64 next_timer_ns(void)
{
	return READ_ONCE(warp.kick.base->cpu_base->expires_next);
}

/*
 * The interrupt of the timer hardware, without the hardware: a simulated board
 * has to set a timer, and leave the guest, for one that comes by itself. That
 * is a third of the host's time under many short operations. True if the kernel
 * then had a look at its timers.
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

/* Of a timer that is due, now. Where the interrupt cannot be had for the
 * asking, a timer long due makes the kernel set its hardware to the soonest. */
static void fire_timers(void)
{
	warp.behind_ns = 0;
	if (raise_timer_interrupt())
		return;
	WRITE_ONCE(warp.kicked, false);
	hrtimer_start(&warp.kick, 1, HRTIMER_MODE_ABS_PINNED_HARD);
	while (!READ_ONCE(warp.kicked))
		cpu_relax();
}

/* The timer interrupt when the next timer is due, by the time that it is now.
 */
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
	u64 left_ns = deadline_ns - now_ns;

	if (timers_can_fire && next_ns > deadline_ns &&
	    warp.behind_ns + left_ns >= warp.slice_ns && left_ns > SETTING_NS) {
		add_ns(left_ns - SETTING_NS);
		set_interrupt();
		return ktime_get_ns();
	}
	if (!timers_can_fire || next_ns > deadline_ns) {
		add_ns(left_ns);
		return deadline_ns;
	}
	if (next_ns > now_ns)
		add_ns(next_ns - now_ns);
	fire_timers();
	return ktime_get_ns();
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
