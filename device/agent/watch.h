// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Keeps watch while a job runs: the host must know that the board is there, and
 * nothing may go on here when the host is gone.
 */
#ifndef NANDLAB_AGENT_WATCH_H
#define NANDLAB_AGENT_WATCH_H

#include <sys/types.h>

/* Processes whose parent ends are this process's children from now on. */
void watch_begin(void);

/*
 * Waits for the child @runner; SIGCHLD must be blocked. Meanwhile it writes a
 * byte ALIVE to standard output now and then. If standard input ends, or brings
 * no byte for 15 s, the host is gone. In the end it kills all that was started
 * and still runs. The runner's status as wait(2) gives it; -1: the host is
 * gone.
 */
int watch(pid_t runner);

#endif
