// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stands before the C library's clock_nanosleep: writes each moment that is
 * waited for, in ns, as a line of the file MOMENTS, and waits.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *until,
		    struct timespec *left)
{
	int (*real)(clockid_t, int, const struct timespec *, struct timespec *);
	int fd = open(getenv("MOMENTS"), O_WRONLY | O_CREAT | O_APPEND, 0644);

	if (flags == TIMER_ABSTIME && fd >= 0)
		dprintf(fd, "%lld\n",
			until->tv_sec * 1000000000LL + until->tv_nsec);
	close(fd);
	*(void **)&real = dlsym(RTLD_NEXT, "clock_nanosleep");
	return real(clock, flags, until, left);
}
