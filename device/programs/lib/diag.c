// SPDX-License-Identifier: GPL-2.0-or-later
/* Messages of failure; see diag.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diag.h"

const char *diag_program = "program";

static int last_errno;

int fail(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", diag_program);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return -1;
}

int fail_errno(const char *verb, const char *path)
{
	last_errno = errno;
	return fail("cannot %s '%s': %s", verb, path, strerror(last_errno));
}

int diag_errno(void)
{
	return last_errno;
}

char *text(const char *format, ...)
{
	va_list args;
	char *result;
	int length;

	va_start(args, format);
	length = vasprintf(&result, format, args);
	va_end(args);
	if (length < 0) {
		fail("out of memory for a message");
		exit(EXIT_RUN_FAILED);
	}
	return result;
}

void *allocate(unsigned long long count, unsigned long size, const char *what)
{
	void *memory = NULL;

	/* calloc() takes a size_t: 32 bits on the smaller boards. */
	if (count <= SIZE_MAX)
		memory = calloc(count ? (size_t)count : 1, size);
	if (!memory) {
		fail("out of memory: %llu x %lu bytes for %s", count, size,
		     what);
		exit(EXIT_RUN_FAILED);
	}
	return memory;
}
