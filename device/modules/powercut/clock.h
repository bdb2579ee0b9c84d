/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The clock for simnand's rawnand.c here: while a check runs the chip takes no
 * time, so no clock is read and nothing is waited for.
 */
#ifndef POWERCUT_CLOCK_H
#define POWERCUT_CLOCK_H

#include <linux/ktime.h>

#include "wait.h"

/* files.c */
u64 powercut_now_ns(void);
u64 powercut_wait_until_ns(u64 deadline_ns);

#define ktime_get_ns()		   powercut_now_ns()
#define wait_until_ns(deadline_ns) powercut_wait_until_ns(deadline_ns)

#endif
