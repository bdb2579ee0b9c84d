/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An operation that fails once: the chip, or the bus to it, reports an error,
 * and the same operation succeeds when it is made again. Nothing on the chip
 * has changed, and its block is good.
 */
#ifndef POWERCUT_ONCE_H
#define POWERCUT_ONCE_H

#include "chip.h"

/* The N-th from now on fails: "program" or "erase"; "read": the next read of
 * page N; "none": nothing does. -EINVAL: another word. */
int once_arm(const char *what, u32 n);

/* Whether it has failed. */
bool once_has_failed(void);

/* Whether this one fails. A program or an erase leaves its status on the chip.
 */
bool once_program_fails(struct chip *chip);
bool once_erase_fails(struct chip *chip);
bool once_read_fails(u32 page);

#endif
