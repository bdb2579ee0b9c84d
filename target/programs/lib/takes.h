/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values of options, taken from the command line: each returns 0, or -1 after a
 * message that names the option, what is wrong and what to give.
 */
#ifndef LIB_TAKES_H
#define LIB_TAKES_H

#include <stdint.h>

/* A whole number from @least to @most. */
int take_count(uint64_t *to, const char *option, const char *value,
	       double least, double most);

/* A share from 0 to 1. */
int take_share(double *to, const char *option, const char *value);

/* The position of @value in @choices, which NULL ends. */
int take_choice(int *to, const char *option, const char *value,
		const char *const *choices);

#endif
