// SPDX-License-Identifier: GPL-2.0-or-later
/* The chip's own counts; see flashstat.h. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checked.h"
#include "diag.h"
#include "flashstat.h"
#include "json.h"

#define FIELD(name) {#name, offsetof(struct flash_counters, name)}

static const struct {
	const char *key;
	size_t offset;
} fields[] = {
	FIELD(reads),		FIELD(programs),	 FIELD(erases),
	FIELD(partition_pages), FIELD(pages_programmed), FIELD(pages_per_block),
	FIELD(blocks),		FIELD(busy_ns),		 FIELD(idle_ns),
	FIELD(worn_out),
};

#define FIELDS (sizeof(fields) / sizeof(*fields))

static uint64_t *field(struct flash_counters *counters, size_t i)
{
	return (uint64_t *)((char *)counters + fields[i].offset);
}

static char *slurp_in(const char *directory, const char *name)
{
	char *path = text("%s/%s", directory, name);
	char *content = slurp(path);
	int reason = errno;

	free(path);
	errno = reason;
	return content;
}

/* Parse a whole number at *@at and move past it; COUNT_MISSING if there is
 * none. */
static uint64_t number(char **at)
{
	char *start = *at + strspn(*at, " \t");
	uint64_t value;

	if (*start < '0' || *start > '9')
		return COUNT_MISSING;
	errno = 0;
	value = strtoull(start, at, 10);
	return errno ? COUNT_MISSING : value;
}

static void parse_counter(struct flash_counters *counters, char *line)
{
	size_t length = strcspn(line, " \t");

	for (size_t i = 0; i < FIELDS; i++) {
		char *value = line + length;

		if (strlen(fields[i].key) == length &&
		    !memcmp(fields[i].key, line, length))
			*field(counters, i) = number(&value);
	}
}

int flash_read_counters(const char *directory, struct flash_counters *counters)
{
	char *content = slurp_in(directory, "counters");
	char *rest = content;
	char *line;

	for (size_t i = 0; i < FIELDS; i++)
		*field(counters, i) = COUNT_MISSING;
	if (!content)
		return -1;
	while ((line = strsep(&rest, "\n")))
		parse_counter(counters, line);
	free(content);
	return 0;
}

static uint64_t count_lines(const char *content)
{
	uint64_t lines = 0;

	for (; *content; content++)
		lines += *content == '\n';
	return lines + 1; /* the last one may lack its newline */
}

static int parse_block(struct flash_blocks *blocks, char *line)
{
	uint64_t at = blocks->count;

	if (number(&line) == COUNT_MISSING)
		return -1;
	blocks->reads[at] = number(&line);
	blocks->programs[at] = number(&line);
	blocks->erases[at] = number(&line);
	if (blocks->erases[at] == COUNT_MISSING)
		return -1;
	blocks->count++;
	return 0;
}

int flash_read_blocks(const char *directory, struct flash_blocks *blocks)
{
	char *content = slurp_in(directory, "blocks");
	char *rest = content;
	uint64_t lines;
	int error = 0;
	char *line;

	memset(blocks, 0, sizeof(*blocks));
	if (!content)
		return -1;
	lines = count_lines(content);
	blocks->reads = allocate(lines, sizeof(uint64_t), "reads a block");
	blocks->programs =
		allocate(lines, sizeof(uint64_t), "programs a block");
	blocks->erases = allocate(lines, sizeof(uint64_t), "erases a block");
	while (!error && (line = strsep(&rest, "\n")))
		if (*line)
			error = parse_block(blocks, line);
	free(content);
	if (error || !blocks->count) {
		flash_free_blocks(blocks);
		errno = EBADMSG;
		return -1;
	}
	return 0;
}

int flash_open_count(const char *directory, const char *name)
{
	char *path = text("%s/%s", directory, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	free(path);
	return fd;
}

int flash_read_count(int fd, uint64_t *count)
{
	char digits[32];
	char *at = digits;
	ssize_t size = pread(fd, digits, sizeof(digits) - 1, 0);

	if (size < 0)
		return -1;
	digits[size] = '\0';
	*count = number(&at);
	if (*count != COUNT_MISSING)
		return 0;
	errno = EBADMSG;
	return -1;
}

void flash_free_blocks(struct flash_blocks *blocks)
{
	free(blocks->reads);
	free(blocks->programs);
	free(blocks->erases);
	memset(blocks, 0, sizeof(*blocks));
}

uint64_t flash_delta(uint64_t later, uint64_t earlier)
{
	if (later == COUNT_MISSING || earlier == COUNT_MISSING ||
	    later < earlier)
		return COUNT_MISSING;
	return later - earlier;
}
