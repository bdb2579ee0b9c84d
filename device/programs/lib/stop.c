// SPDX-License-Identifier: GPL-2.0-or-later
/* Signals noted; see stop.h. */
#include <signal.h>
#include <string.h>

#include "stop.h"

static volatile sig_atomic_t came;

static void note(int signal)
{
	came = signal;
}

void stop_watch(void)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = note;
	/* Restart interrupted system calls: none of ours waits for long. */
	action.sa_flags = SA_RESTART;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

int stop_wanted(void)
{
	return came;
}
