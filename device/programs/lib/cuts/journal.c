// SPDX-License-Identifier: GPL-2.0-or-later
/* The journal of the module powercut, by its files in debugfs. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checked.h"
#include "cuts/cuts.h"
#include "diag.h"
#include "flashstat.h"

#define JOURNAL FLASHSTAT_DIRECTORY "/journal"

int journal_say(const char *format, ...)
{
	static int fd = -1;
	char words[64];
	va_list list;
	ssize_t size;

	va_start(list, format);
	size = vsnprintf(words, sizeof(words), format, list);
	va_end(list);
	if (fd < 0)
		fd = open(JOURNAL, O_WRONLY | O_CLOEXEC);
	if (fd >= 0 && write(fd, words, (size_t)size) == size)
		return 0;
	if (errno == ENOSPC)
		return fail("the chip's journal is full: take a shorter load");
	return fail_errno(words, JOURNAL);
}

static int value_of(const char *key, uint32_t *value)
{
	char *all = slurp(JOURNAL);
	char *at = all ? strstr(all, key) : NULL;

	if (!at) {
		free(all);
		return fail("%s: no %s", JOURNAL, key);
	}
	*value = (uint32_t)strtoul(at + strlen(key), NULL, 10);
	free(all);
	return 0;
}

int journal_recorded(uint32_t *operations)
{
	uint32_t lost = 0;

	if (value_of("lost ", &lost) || value_of("recorded ", operations))
		return -1;
	return lost ? fail("the chip's journal is full after %u operations: "
			   "take a shorter load",
			   *operations)
		    : 0;
}

int journal_checked(uint32_t *operations)
{
	return value_of("checked ", operations);
}

int journal_once_failed(uint32_t *failed)
{
	return value_of("once_failed ", failed);
}

int journal_read_marks(struct load *load)
{
	char *all = slurp(FLASHSTAT_DIRECTORY "/journal_marks"), *at = all;
	unsigned int ops, mark;
	int used;

	if (!all)
		return fail_errno("read", FLASHSTAT_DIRECTORY "/journal_marks");
	for (; sscanf(at, "%u %u\n%n", &ops, &mark, &used) == 2; at += used) {
		struct op *op = &load->op[mark / 2];

		if (mark / 2 >= (unsigned int)load->ops)
			continue;
		if (mark % 2)
			op->returned = ops;
		else
			op->begun = ops;
	}
	free(all);
	return 0;
}

int journal_chip(uint32_t *crc)
{
	char *all = slurp(FLASHSTAT_DIRECTORY "/chip_crc");

	if (!all)
		return fail_errno("read", FLASHSTAT_DIRECTORY "/chip_crc");
	*crc = (uint32_t)strtoul(all, NULL, 16);
	free(all);
	return 0;
}

static int add_file(const char *path, uint64_t *digest)
{
	char *all = slurp(path), *at;

	if (!all)
		return fail_errno("read", path);
	for (at = all; *at; at++) /* FNV-1a */
		*digest = (*digest ^ (uint8_t)*at) * 0x100000001b3u;
	free(all);
	return 0;
}

int journal_recording(uint64_t *digest)
{
	*digest = 0xcbf29ce484222325u;
	return add_file(FLASHSTAT_DIRECTORY "/journal_ops", digest) ||
			       add_file(FLASHSTAT_DIRECTORY "/journal_marks",
					digest)
		       ? -1
		       : 0;
}

char *journal_kinds(void)
{
	char *all = slurp(FLASHSTAT_DIRECTORY "/journal_ops"), *at = all;
	char *to = all;

	/* the first letter of each line; a bad block mark is "mark_bad" */
	while (at && *at) {
		*to++ = *at == 'm' ? 'b' : *at;
		at = strchr(at, '\n');
		at += at ? 1 : 0;
	}
	if (to)
		*to = '\0';
	return all;
}

/* A text between tabs of a line, from 0; its end if it has no so many. */
static const char *column(const char *line, int number)
{
	while (number--) {
		line += strcspn(line, "\t\n");
		line += *line == '\t';
	}
	return line;
}

int journal_find_way(const char *name, struct journal_way *way)
{
	char *all = slurp(FLASHSTAT_DIRECTORY "/journal_ways");
	size_t letters = strlen(name);
	const char *at = all;

	if (!all)
		return fail_errno("read", FLASHSTAT_DIRECTORY "/journal_ways");
	while (*at && (strncmp(at, name, letters) || at[letters] != '\t')) {
		at += strcspn(at, "\n");
		at += *at == '\n';
	}
	if (!*at) {
		free(all);
		return fail("%s: no such way to tear", name);
	}
	way->tears_erases = *column(at, 2) != '-';
	way->unstable = *column(at, 3) != '-';
	free(all);
	return 0;
}
