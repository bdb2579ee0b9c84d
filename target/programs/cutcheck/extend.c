// SPDX-License-Identifier: GPL-2.0-or-later
/* Files made longer after a mount was judged: bytes that were cut off, and lie
 * on flash still, come back behind the old end. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "diag.h"
#include "judge.h"

/* What stands there where none was, to try the checker. */
#define STALE 's'

/* Names whose file is longer, by their number; as many as the load has. */
static struct longer {
	bool is;
	ino_t inode;
	size_t end; /* of before */
} *names;
static int count;

void extend_none(const struct load *load)
{
	free(names);
	count = load->names;
	names = allocate((unsigned)count + 1, sizeof(*names), "longer files");
}

/* What a file of several names had before one of them made it longer. */
static const struct longer *other_name(int number, ino_t inode)
{
	int i;

	for (i = 0; i < number; i++)
		if (names[i].is && names[i].inode == inode)
			return &names[i];
	return NULL;
}

/* 1: it is left as it is. */
static int make_longer(int fd, off_t end, bool stale)
{
	static const char byte = STALE;

	if (ftruncate(fd, end + EXTENDED_BYTES)) {
		if (errno != ENOSPC)
			return -1;
		/* what found room of it is no part of the file */
		return ftruncate(fd, end) ? -1 : 1;
	}
	return stale && pwrite(fd, &byte, 1, end) != 1 ? -1 : 0;
}

static int extend_open(int fd, int number, bool stale)
{
	const struct longer *other;
	struct stat st;
	int error;

	if (fstat(fd, &st))
		return -1;
	other = other_name(number, st.st_ino);
	if (other) {
		names[number] = *other;
		return 0;
	}
	error = make_longer(fd, st.st_size, stale);
	if (!error)
		names[number] =
			(struct longer){true, st.st_ino, (size_t)st.st_size};
	return error < 0 ? -1 : 0;
}

static int extend(const char *name, int number, bool stale)
{
	char path[PATH_MAX];
	int fd, why, error;

	snprintf(path, sizeof(path), MOUNTPOINT "/%s", name);
	fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == EISDIR
			       ? 0
			       : -1;
	error = extend_open(fd, number, stale);
	why = errno;
	close(fd);
	errno = why;
	return error;
}

void extend_files(const struct load *load, bool stale, struct finding *finding)
{
	const char *name;
	int i;

	for (i = 0; i < load->names; i++) {
		name = load->name[i].path;
		if (load->name[i].events && extend(name, i, stale)) {
			found(finding, NOT_AFTER, "%s made longer: %s", name,
			      strerror(errno));
			return;
		}
	}
}

bool is_extended(int number)
{
	return number < count && names[number].is;
}

/* The first byte that is not 0; the end, if none is. A comparison of bytes one
 * by one would take a tenth of a point's time. */
static size_t first_stale(size_t from, size_t had)
{
	static const uint8_t zeros[EXTENDED_BYTES];
	size_t bytes = had - from < sizeof(zeros) ? had - from : sizeof(zeros);

	if (!memcmp(data + from, zeros, bytes))
		from += bytes;
	while (from < had && !data[from])
		from++;
	return from;
}

size_t extended_had(const struct load *load, int number, size_t had,
		    struct finding *finding)
{
	const char *path = load->name[number].path;
	size_t stale, end, now;

	if (!is_extended(number))
		return had;
	end = names[number].end;
	now = end + EXTENDED_BYTES;
	if (had != now)
		found(finding, NOT_AFTER,
		      "%s: made longer to %zu bytes, it has %zu", path, now,
		      had);
	if (had <= end)
		return had;
	stale = first_stale(end, had);
	if (stale < had)
		found(finding, BEHIND,
		      "%s: made longer, byte %zu of %zu is %u, not 0", path,
		      stale, had, data[stale]);
	return end;
}
