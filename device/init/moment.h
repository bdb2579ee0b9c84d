// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The board's clock: tells the time, and waits for a moment.
 */
#ifndef NANDLAB_INIT_MOMENT_H
#define NANDLAB_INIT_MOMENT_H

#include <stdint.h>

#define NS_PER_S 1000000000LL

/* The longest time that a job may name: nine years. A moment and several such
 * times are in the range of int64_t together. */
#define LONGEST_NS (INT64_MAX / 32)

/* The time on CLOCK_MONOTONIC. */
int64_t now_ns(void);

/* The number at the start of a text; dies, telling @what it is, if it is not
 * within -@most and @most. */
int64_t number_within(const char *text, int64_t most, const char *what);

/* Waits until the moment @at_ns of the clock. */
void await_moment(int64_t at_ns);

/* Waits until the kernel has no more work of its own; dies if it takes long. */
void await_rest(void);

/*
 * Waits for a whole second of the clock, one to two seconds after @saved_ns, or
 * four to five if it has passed already; and as many ns more as the file says,
 * if it is there. Dies if the later one has passed too, and of an offset beyond
 * LONGEST_NS.
 */
void await_start(int64_t saved_ns, const char *offset_file);

#endif
