// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A sync beside the load. Another process begins syncfs(2), and the load goes
 * on so many microseconds of the board's clock later, with real-time priority.
 * The board has one processor and flash operations move its clock, so the load
 * wakes in the midst of the sync, takes the processor where the kernel next
 * lets it, and goes on until it must wait. One number of microseconds is one
 * schedule, and the same each time.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "checked.h"
#include "cuts/calls.h"
#include "diag.h"

#define PRIORITY 10

static pid_t other; /* 0: no sync is beside the load */

static int set_priority(int policy, int priority)
{
	struct sched_param param = {.sched_priority = priority};

	return sched_setscheduler(0, policy, &param)
		       ? fail_errno("set the priority of", "the load")
		       : 0;
}

static int begin(uint64_t microseconds)
{
	struct timespec wake = {
		.tv_sec = (time_t)(microseconds / 1000000),
		.tv_nsec = (long)(microseconds % 1000000) * 1000,
	};

	if (set_priority(SCHED_FIFO, PRIORITY))
		return -1;
	other = fork();
	if (other < 0)
		return fail_errno("fork", "the load");
	if (!other) {
		if (set_priority(SCHED_OTHER, 0))
			_exit(EPERM);
		_exit(checked_syncfs(MOUNTPOINT) ? diag_errno() : 0);
	}
	return clock_nanosleep(CLOCK_MONOTONIC, 0, &wake, NULL)
		       ? fail("the load was woken too early")
		       : 0;
}

int cuts_beside_end(void)
{
	pid_t ended = other;
	int status;

	if (!other)
		return 0;
	other = 0;
	if (waitpid(ended, &status, 0) < 0)
		return fail_errno("wait for", "the sync beside the load");
	if (set_priority(SCHED_OTHER, 0))
		return -1;
	errno = WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
	return errno ? fail_errno("sync", MOUNTPOINT) : 0;
}

int cuts_play_beside(const struct op *op)
{
	return op->what == OP_BEGINSYNC ? begin(op->bytes) : cuts_beside_end();
}
