/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SIGINT and SIGTERM during a run: noted, and acted on between two operations,
 * so that a run removes its files before it ends.
 */
#ifndef FFSMARK_INTERRUPT_H
#define FFSMARK_INTERRUPT_H

#include <signal.h>

/* The signal that came; 0: none. */
extern volatile sig_atomic_t interrupted;

void interrupt_watch(void);
void interrupt_unwatch(void);

#endif
