// SPDX-License-Identifier: GPL-2.0-or-later
/* A one-line JSON writer; see json.h. */
#include <inttypes.h>
#include <math.h>

#include "diag.h"
#include "json.h"

/*
 * Bytes of the UTF-8 character at @text, 0 if it is none. Paths come from
 * users and need not be UTF-8; JSON must be.
 */
static int utf8_length(const unsigned char *text)
{
	int length = text[0] < 0x80			 ? 1
		     : text[0] >= 0xc2 && text[0] < 0xe0 ? 2
		     : text[0] >= 0xe0 && text[0] < 0xf0 ? 3
		     : text[0] >= 0xf0 && text[0] < 0xf5 ? 4
							 : 0;

	for (int i = 1; i < length; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	if ((text[0] == 0xe0 && text[1] < 0xa0) || /* over-long */
	    (text[0] == 0xed && text[1] > 0x9f) || /* surrogate */
	    (text[0] == 0xf0 && text[1] < 0x90) || /* over-long */
	    (text[0] == 0xf4 && text[1] > 0x8f))   /* past U+10FFFF */
		return 0;
	return length;
}

static void quoted(FILE *out, const char *value)
{
	const unsigned char *at = (const unsigned char *)value;

	fputc('"', out);
	while (*at) {
		int length = utf8_length(at);

		if (!length)
			fputs("\\ufffd", out);
		else if (*at == '"' || *at == '\\')
			fprintf(out, "\\%c", *at);
		else if (*at < 0x20 || *at == 0x7f)
			fprintf(out, "\\u%04x", *at);
		else
			fwrite(at, (size_t)length, 1, out);
		at += length ? length : 1;
	}
	fputc('"', out);
}

static void member(struct json *json, const char *key)
{
	if (json->depth && json->filled[json->depth - 1])
		fputc(',', json->out);
	if (json->depth)
		json->filled[json->depth - 1] = true;
	if (key) {
		quoted(json->out, key);
		fputc(':', json->out);
	}
}

static void open_level(struct json *json, const char *key, const char *braces)
{
	member(json, key);
	fputc(braces[0], json->out);
	json->filled[json->depth] = false;
	json->closing[json->depth] = braces[1];
	json->depth++;
}

void json_object(struct json *json, const char *key)
{
	open_level(json, key, "{}");
}

void json_array(struct json *json, const char *key)
{
	open_level(json, key, "[]");
}

void json_end(struct json *json)
{
	fputc(json->closing[--json->depth], json->out);
}

void json_null(struct json *json, const char *key)
{
	member(json, key);
	fputs("null", json->out);
}

void json_bool(struct json *json, const char *key, bool value)
{
	member(json, key);
	fputs(value ? "true" : "false", json->out);
}

void json_count(struct json *json, const char *key, uint64_t value)
{
	if (value == COUNT_MISSING) {
		json_null(json, key);
		return;
	}
	member(json, key);
	fprintf(json->out, "%" PRIu64, value);
}

void json_signed(struct json *json, const char *key, int64_t value)
{
	member(json, key);
	fprintf(json->out, "%" PRId64, value);
}

void json_real(struct json *json, const char *key, double value)
{
	if (!isfinite(value)) {
		json_null(json, key);
		return;
	}
	member(json, key);
	fprintf(json->out, "%.9g", value);
}

void json_text(struct json *json, const char *key, const char *value)
{
	if (!value) {
		json_null(json, key);
		return;
	}
	member(json, key);
	quoted(json->out, value);
}

int json_finish(struct json *json)
{
	fputc('\n', json->out);
	if (fflush(json->out) || ferror(json->out))
		return fail_errno("write", "the JSON result");
	return 0;
}
