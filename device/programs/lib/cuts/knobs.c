// SPDX-License-Identifier: GPL-2.0-or-later
/* The file system's own checks, which files of the kernel switch on: UBIFS has
 * five in debugfs, YAFFS2 bits of its module's trace mask. Where the kernel has
 * no such file, or does not take the value, the program ends: the file system
 * is not to be blamed for it. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuts/cuts.h"
#include "diag.h"

int knobs_take(struct knobs *knobs, char *path_and_value)
{
	char *value = strchr(path_and_value, '='), *mounted;

	if (knobs->count == KNOBS_MAX)
		return fail("more than %d own checks", KNOBS_MAX);
	if (value)
		*value++ = '\0';
	mounted = value ? strchr(value, ',') : NULL;
	if (mounted)
		*mounted++ = '\0';
	knobs->on[knobs->count] = value ? value : "1";
	knobs->mounted[knobs->count] = mounted;
	knobs->path[knobs->count++] = path_and_value;
	return 0;
}

int knobs_take_words(struct knobs *knobs, const char *words)
{
	if (knobs->said == SAYS_MAX)
		return fail("more than %d words of checks", SAYS_MAX);
	knobs->says[knobs->said++] = words;
	return 0;
}

static void set_one(const char *path, const char *value, char *before)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	ssize_t bytes = (ssize_t)strlen(value);
	ssize_t had;

	if (fd < 0) {
		fail_errno("open", path);
		exit(EXIT_RUN_FAILED);
	}
	if (before) {
		had = read(fd, before, KNOB_BYTES - 1);
		before[had < 0 ? 0 : had] = '\0';
	}
	if (pwrite(fd, value, (size_t)bytes, 0) != bytes) {
		fail_errno("write", path);
		exit(EXIT_RUN_FAILED);
	}
	close(fd);
}

void knobs_set(struct knobs *knobs, bool on)
{
	int i;

	for (i = 0; i < knobs->count; i++) {
		if (on)
			set_one(knobs->path[i], knobs->on[i], knobs->before[i]);
		else if (*knobs->before[i])
			set_one(knobs->path[i], knobs->before[i], NULL);
	}
}

void knobs_mounted(const struct knobs *knobs)
{
	int i;

	for (i = 0; i < knobs->count; i++)
		if (knobs->mounted[i])
			set_one(knobs->path[i], knobs->mounted[i], NULL);
}
