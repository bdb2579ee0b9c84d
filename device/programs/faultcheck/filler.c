// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Files that take all room: small ones that are deleted to give some back, for
 * a full file system may refuse to shorten a file, and one for all the rest.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "checked.h"
#include "diag.h"
#include "faults.h"
#include "payload.h"

#define REST FREE_MOST /* number of the one for the rest */

static const char *name_of(uint32_t number)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), MOUNTPOINT "/filler.%u", number);
	return path;
}

/* A step of bytes that no compressor shortens. 1: there is no room. */
static int write_step(int fd, uint64_t *state)
{
	uint64_t words[FREE_STEP_BYTES / sizeof(uint64_t)];
	ssize_t wrote;
	size_t i;

	for (i = 0; i < FREE_STEP_BYTES / sizeof(*words); i++)
		words[i] = payload_draw(state);
	wrote = write(fd, words, sizeof(words));
	if (wrote == (ssize_t)sizeof(words) && !fsync(fd))
		return 0;
	if (wrote >= 0 || errno == ENOSPC)
		return 1;
	return fail_errno("write", "the filler");
}

static int write_files(void)
{
	uint64_t state = 1;
	uint32_t i;
	int fd, full = 0;

	for (i = 0; !full && i <= REST; i++) {
		fd = checked_open(name_of(i), O_WRONLY | O_CREAT, 0644);
		if (fd < 0)
			return -1;
		do
			full = write_step(fd, &state);
		while (!full && i == REST);
		close(fd); /* what found no room may be told again */
	}
	return full < 0 ? -1 : 0;
}

int filler_fill(const struct subject *subject)
{
	int error;

	if (subject_mount(subject))
		return fail_errno("mount", subject->source);
	error = write_files();
	if (subject_unmount(subject) && !error)
		error = fail_errno("unmount", MOUNTPOINT);
	return error;
}

int filler_free(uint32_t steps)
{
	uint32_t i;

	for (i = 0; i < steps && i < FREE_MOST; i++)
		if (unlink(name_of(i)))
			return fail_errno("unlink", name_of(i));
	return checked_syncfs(MOUNTPOINT);
}

int filler_remove(void)
{
	uint32_t i;
	int error = 0;

	for (i = 0; i <= REST; i++)
		if (unlink(name_of(i)) && errno != ENOENT)
			error = -1;
	return error;
}
