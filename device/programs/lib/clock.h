/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one clock of the workload programs: monotonic, in nanoseconds.
 *
 * Costs one clock_gettime(), which needs no system call where the kernel
 * offers it through the vDSO (about 25 ns on a PC).
 */
#ifndef LIB_CLOCK_H
#define LIB_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t now_ns(void)
{
	struct timespec now;

	/* Cannot fail: the clock exists on every Linux, the pointer is ours. */
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif
