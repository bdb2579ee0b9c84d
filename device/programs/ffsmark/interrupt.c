// SPDX-License-Identifier: GPL-2.0-or-later
/* Signals noted; see interrupt.h. */
#include <string.h>

#include "interrupt.h"

volatile sig_atomic_t interrupted;

static void note(int signal)
{
	interrupted = signal;
}

static void handle(void (*handler)(int))
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = handler;
	/* Restart interrupted system calls: none of ours waits for long. */
	action.sa_flags = SA_RESTART;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

void interrupt_watch(void)
{
	handle(note);
}

void interrupt_unwatch(void)
{
	handle(SIG_DFL);
}
