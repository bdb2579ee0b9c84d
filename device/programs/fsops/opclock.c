// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A clock that says which operation set a file's times.
 *
 * Before operation N of a sequence the system's clock is set to CLOCK_START and
 * N minutes. So a time that a file system notes is read as a number of an
 * operation, and two file systems can be compared by it. No operation takes a
 * minute, and no file system here keeps times coarser than two seconds.
 *
 * Needs CAP_SYS_TIME: only a board's clock is to be set.
 */
#include <stdlib.h>
#include <time.h>

#include "diag.h"
#include "fsops.h"

#define STEP_S 60

static int64_t next = -1; /* -1: the clock is left alone */

void opclock_begin(int64_t first)
{
	next = first;
}

bool opclock_runs(void)
{
	return next >= 0;
}

int opclock_set(void)
{
	struct timespec now = {.tv_sec = CLOCK_START + next * STEP_S};

	if (opclock_runs() && clock_settime(CLOCK_REALTIME, &now))
		return fail_errno("set", "the clock");
	return 0;
}

void opclock_go_on(void)
{
	next += opclock_runs();
}

int64_t opclock_operation(time_t seconds)
{
	return (seconds - CLOCK_START) / STEP_S;
}
