// SPDX-License-Identifier: GPL-2.0-or-later
/* Doubts kept with a result; see warnings.h. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diag.h"
#include "json.h"
#include "warnings.h"

void warnings_add(struct warnings *warnings, const char *format, ...)
{
	char **texts = realloc(warnings->texts,
			       (warnings->count + 1) * sizeof(*texts));
	va_list args;

	if (!texts) {
		fail("out of memory for a warning");
		exit(EXIT_RUN_FAILED);
	}
	warnings->texts = texts;
	va_start(args, format);
	if (vasprintf(&texts[warnings->count], format, args) < 0) {
		fail("out of memory for a warning");
		exit(EXIT_RUN_FAILED);
	}
	va_end(args);
	fprintf(stderr, "%s: warning: %s\n", diag_program,
		texts[warnings->count++]);
}

void warnings_json(struct json *json, const char *key,
		   const struct warnings *warnings)
{
	json_array(json, key);
	for (size_t i = 0; i < warnings->count; i++)
		json_text(json, NULL, warnings->texts[i]);
	json_end(json);
}

void warnings_close(struct warnings *warnings)
{
	for (size_t i = 0; i < warnings->count; i++)
		free(warnings->texts[i]);
	free(warnings->texts);
	memset(warnings, 0, sizeof(*warnings));
}
