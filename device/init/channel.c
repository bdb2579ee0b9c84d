// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "channel.h"
#ifndef WIRE
#define WIRE "wire.h"
#endif
#include WIRE

#define OUTPUT_MAX (8 << 20) /* the host's job.py has the same */

/* A byte that is not printable ASCII becomes \u00XX: the host restores it. */
static void put_json_string(const char *text, size_t size)
{
	size_t i;

	fputc('"', channel);
	for (i = 0; i < size; i++) {
		unsigned char c = text[i];

		if (c == '"' || c == '\\')
			fprintf(channel, "\\%c", c);
		else if (c == '\n')
			fputs("\\n", channel);
		else if (c < 0x20 || c > 0x7e)
			fprintf(channel, "\\u%04x", c);
		else
			fputc(c, channel);
	}
	fputc('"', channel);
}

void die(const char *what)
{
	int err = errno;

	fprintf(stderr, "init: %s: %s\n", what, strerror(err));
	if (channel) {
		/* a new line, in case the record before is incomplete */
		record("\n{\"event\":\"failed\",\"what\":");
		put_json_string(what, strlen(what));
		record(",\"why\":\"%s\"}\n", strerror(err));
		fflush(channel);
		wire_drain();
	}
	wire_give_up();
	_exit(1);
}

void channel_open(void)
{
	wire_open();
}

void record(const char *format, ...)
{
	va_list values;

	va_start(values, format);
	vfprintf(channel, format, values);
	va_end(values);
}

void record_end(void)
{
	fputs("\n", channel);
	if (fflush(channel) || wire_drain())
		die(CHANNEL);
}

char *read_file(const char *path, size_t *size)
{
	char *text;
	size_t n;
	FILE *f = fopen(path, "r");

	*size = 0;
	if (!f)
		return NULL;
	text = malloc(OUTPUT_MAX + 1);
	if (!text)
		die("out of memory");
	n = fread(text, 1, OUTPUT_MAX, f);
	if (ferror(f))
		die(path);
	fclose(f);
	text[n] = '\0';
	*size = n;
	return text;
}

void record_file(const char *key, const char *path)
{
	size_t size;
	char *text = read_file(path, &size);
	struct stat st;

	record(",\"%s\":", key);
	put_json_string(text ? text : "", size);
	free(text);
	if (size == OUTPUT_MAX && !stat(path, &st) && st.st_size > OUTPUT_MAX)
		record(",\"%s_bytes\":%lld", key, (long long)st.st_size);
}
