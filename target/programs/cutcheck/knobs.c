// SPDX-License-Identifier: GPL-2.0-or-later
/* The file system's own checks, which files of the kernel switch on: UBIFS has
 * five in debugfs, YAFFS2 bits of its module's trace mask. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cutcheck.h"
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

static int set_one(const char *path, const char *value, char *before)
{
	int fd = open(path, O_RDWR | O_CLOEXEC), error = 0;
	ssize_t bytes = (ssize_t)strlen(value);
	ssize_t had;

	if (fd < 0)
		return fail_errno("open", path);
	if (before) {
		had = read(fd, before, KNOB_BYTES - 1);
		before[had < 0 ? 0 : had] = '\0';
	}
	if (pwrite(fd, value, (size_t)bytes, 0) != bytes)
		error = fail_errno("write", path);
	close(fd);
	return error;
}

int knobs_set(struct knobs *knobs, bool on)
{
	int i, error = 0;

	for (i = 0; !error && i < knobs->count; i++) {
		if (on)
			error = set_one(knobs->path[i], knobs->on[i],
					knobs->before[i]);
		else if (*knobs->before[i])
			error = set_one(knobs->path[i], knobs->before[i], NULL);
	}
	return error;
}

int knobs_mounted(const struct knobs *knobs)
{
	int i, error = 0;

	for (i = 0; !error && i < knobs->count; i++)
		if (knobs->mounted[i])
			error = set_one(knobs->path[i], knobs->mounted[i],
					NULL);
	return error;
}
