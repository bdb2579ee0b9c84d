/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Doubts about a result, kept with it: each is "code: sentence", the code from
 * a closed list that the program's documentation explains.
 */
#ifndef LIB_WARNINGS_H
#define LIB_WARNINGS_H

#include <stddef.h>

struct json;

struct warnings {
	char **texts;
	size_t count;
};

/* Keep a warning and print it on stderr. */
void warnings_add(struct warnings *warnings, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void warnings_json(struct json *json, const char *key,
		   const struct warnings *warnings);
void warnings_close(struct warnings *warnings);

#endif
