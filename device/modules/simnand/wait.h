/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How the time of a flash operation passes: docs/time.md.
 */
#ifndef SIMNAND_WAIT_H
#define SIMNAND_WAIT_H

#include <linux/types.h>

struct wait_params {
	/* "warp": the clock is moved on. "sleep": the caller sleeps. "spin":
	 * the caller keeps the CPU. */
	char *mode;

	/* Time in ns that warp may add before it sets the timer interrupt
	 * again; 0: each time. So no timer interrupt comes more than this too
	 * late. */
	unsigned int warp_slice_ns;
};

/* From start to stop, time passes as params say. 0, or an errno after logging
 * the reason. */
int wait_start(const struct wait_params *params);
void wait_stop(void);

/* Wait until CLOCK_MONOTONIC reaches the deadline. Returns the time then. */
u64 wait_until_ns(u64 deadline_ns);

/* warp.c: the same for wait=warp, with a clock that can be moved on. */
int warp_start(u64 slice_ns);
void warp_stop(void);

/* False after somebody chose another clock source for the kernel. */
bool warp_works(void);

/* Move the clock to the deadline, or to the next timer if that comes before.
 * Returns the new time: if it is before the deadline, that timer is due.
 * Interrupts must be off, from before the caller saw that no other thread is
 * ready. */
u64 warp_towards(u64 now_ns, u64 deadline_ns, bool timers_can_fire);

/* Fire the timers that are due, with interrupts on. Another thread may be ready
 * to run then. Returns the time. */
u64 warp_fire_timers(void);

/* Sum of all time added so far. */
u64 warp_added_ns(void);

#endif
