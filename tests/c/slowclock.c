// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stands before the C library's clock_gettime: a second passes between two
 * looks at the monotonic clock.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *t)
{
	static time_t seconds;
	int (*real)(clockid_t, struct timespec *);

	if (clock == CLOCK_MONOTONIC) {
		t->tv_sec = seconds++;
		t->tv_nsec = 0;
		return 0;
	}
	*(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
	return real(clock, t);
}
