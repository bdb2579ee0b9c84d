// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The board's clock: what time it is, and waiting for a moment.
 */
#ifndef NANDLAB_INIT_MOMENT_H
#define NANDLAB_INIT_MOMENT_H

#include <stdint.h>

#define NS_PER_S 1000000000LL

/* CLOCK_MONOTONIC. */
int64_t now_ns(void);

/* Returns once the kernel has nothing to do of its own; dies if it never has.
 */
void await_rest(void);

/*
 * Returns a fixed number of whole seconds after the state was saved, and as
 * many ns later as the file says, if it is there.
 */
void await_start(int64_t saved_ns, const char *offset_file);

#endif
