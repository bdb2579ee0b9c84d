// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The board's clock: tells the time, and waits for a moment.
 */
#ifndef NANDLAB_INIT_MOMENT_H
#define NANDLAB_INIT_MOMENT_H

#include <stdint.h>

#define NS_PER_S 1000000000LL

/* The time on CLOCK_MONOTONIC. */
int64_t now_ns(void);

/* Waits until the kernel has no more work of its own; dies if it takes long. */
void await_rest(void);

/*
 * Waits for a whole second of the clock, four to five seconds after @saved_ns,
 * and as many ns more as the file says, if it is there. Dies if that second has
 * passed already.
 */
void await_start(int64_t saved_ns, const char *offset_file);

#endif
