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

	/* Time that warp may add before it sets the timer interrupt anew, ns;
	 * 0: each time. No timer is later than this for want of an interrupt.
	 */
	unsigned int warp_slice_ns;
};

/* Between the two, time passes as params say. 0, or an error whose reason is
 * in the kernel's log. */
int wait_start(const struct wait_params *params);
void wait_stop(void);

/* Returns the time, once CLOCK_MONOTONIC has reached the deadline. */
u64 wait_until_ns(u64 deadline_ns);

/* warp.c: the same of the clock that can be moved on. */
int warp_start(u64 slice_ns);
void warp_stop(void);

/* False after somebody chose another clock source for the kernel. */
bool warp_works(void);

/* Adds what is left until the deadline or until a timer is due, which then
 * fires. Returns the time that it is then; the caller may be needed elsewhere
 * before it goes on. */
u64 warp_towards(u64 now_ns, u64 deadline_ns, bool timers_can_fire);

/* All the time ever added. */
u64 warp_added_ns(void);

#endif
