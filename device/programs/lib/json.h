/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes one JSON value on one line, member by member.
 *
 * A key of NULL means an element of an array. Output cannot be taken back, so
 * call this once the whole result is known.
 */
#ifndef LIB_JSON_H
#define LIB_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define JSON_DEPTH 16

/* A count that could not be read: written as null, never as 0. */
#define COUNT_MISSING UINT64_MAX

struct json {
	FILE *out;
	int depth;
	bool filled[JSON_DEPTH];  /* a member came before it, at this depth */
	char closing[JSON_DEPTH]; /* '}' or ']' */
};

void json_object(struct json *json, const char *key);
void json_array(struct json *json, const char *key);
void json_end(struct json *json);
void json_null(struct json *json, const char *key);
void json_bool(struct json *json, const char *key, bool value);
void json_count(struct json *json, const char *key, uint64_t value);
void json_signed(struct json *json, const char *key, int64_t value);
/* NaN and infinity have no JSON form: they are written as null. */
void json_real(struct json *json, const char *key, double value);
/* A string; NULL is written as null. Invalid UTF-8 is written as U+FFFD. */
void json_text(struct json *json, const char *key, const char *value);
/* End the line, flush, and fail if any of it could not be written. */
int json_finish(struct json *json);

#endif
