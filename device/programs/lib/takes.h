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

/* A time of at least 1 unit of so many ns. */
int take_time(uint64_t *ns, const char *option, const char *value,
	      uint64_t unit_ns);

/* A plain argument: a whole number, hexadecimal after 0x. */
int take_number(uint64_t *to, const char *value);

/* A share from 0 to 1. */
int take_share(double *to, const char *option, const char *value);

/* The position of @value in @choices, which NULL ends. */
int take_choice(int *to, const char *option, const char *value,
		const char *const *choices);

/* on_FIELD() for a table of options (options.h) whose context is a struct
 * request: of a whole number, and of any text. */
#define TAKE_COUNT(field, option, least, most)                                 \
	static int on_##field(void *context, const char *value)                \
	{                                                                      \
		return take_count(&((struct request *)context)->field, option, \
				  value, least, most);                         \
	}
#define TAKE_TEXT(field)                                        \
	static int on_##field(void *context, const char *value) \
	{                                                       \
		((struct request *)context)->field = value;     \
		return 0;                                       \
	}

#endif
