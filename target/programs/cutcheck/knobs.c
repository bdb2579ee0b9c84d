// SPDX-License-Identifier: GPL-2.0-or-later
/* The file system's own checks, which files of the kernel switch on: UBIFS has
 * five in debugfs. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cutcheck.h"
#include "diag.h"

int knobs_take(struct knobs *knobs, const char *path)
{
	if (knobs->count == KNOBS_MAX)
		return fail("more than %d own checks", KNOBS_MAX);
	knobs->path[knobs->count++] = path;
	return 0;
}

int knobs_set(const struct knobs *knobs, bool on)
{
	int i, fd, error = 0;

	for (i = 0; !error && i < knobs->count; i++) {
		fd = open(knobs->path[i], O_WRONLY | O_CLOEXEC);
		if (fd < 0)
			return fail_errno("open", knobs->path[i]);
		if (write(fd, on ? "1" : "0", 1) != 1)
			error = fail_errno("write", knobs->path[i]);
		close(fd);
	}
	return error;
}
