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
#include <unistd.h>

#include "diag.h"
#include "cuts/judge.h"

/* What stands there where none was, to try the checker. */
#define STALE 's'

/* Names at which a file was seen, by their number; as many as the load has. */
static struct longer {
	bool seen;
	bool is; /* longer now */
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

void extend_seen(int number, ino_t inode, size_t bytes)
{
	if (!names[number].is)
		names[number] = (struct longer){
			.seen = true, .inode = inode, .end = bytes};
}

/* A file of several names is made longer by the first of them. */
static bool is_longer(int number)
{
	int i;

	for (i = 0; i < number; i++)
		if (names[i].is && names[i].inode == names[number].inode)
			return true;
	return false;
}

static int write_stale(const char *path, size_t end)
{
	static const char byte = STALE;
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW), error;

	if (fd < 0)
		return -1;
	error = pwrite(fd, &byte, 1, (off_t)end) == 1 ? 0 : -1;
	return close(fd) || error ? -1 : 0;
}

/* One call a file: a look at each again would be a good part of a point. */
static int make_longer(const char *name, struct longer *file, bool stale)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), MOUNTPOINT "/%s", name);
	if (truncate(path, (off_t)file->end + EXTENDED_BYTES)) {
		if (errno != ENOSPC)
			return -1;
		/* what found room of it is no part of the file */
		return truncate(path, (off_t)file->end);
	}
	file->is = true;
	return stale ? write_stale(path, file->end) : 0;
}

void extend_files(const struct load *load, bool stale, struct finding *finding)
{
	const char *name;
	int i;

	for (i = 0; i < load->names; i++) {
		name = load->name[i].path;
		if (!names[i].seen)
			continue;
		if (is_longer(i)) {
			names[i].is = true;
		} else if (make_longer(name, &names[i], stale)) {
			cuts_found(finding, NOT_AFTER, "%s made longer: %s",
				   name, strerror(errno));
			return;
		}
	}
}

bool extend_is_longer(int number)
{
	return number < count && names[number].is;
}

/* The first byte that is not 0; the end, if none is. A comparison of bytes one
 * by one would take a tenth of a point's time. */
static size_t first_stale(size_t from, size_t had)
{
	static const uint8_t zeros[EXTENDED_BYTES];
	size_t bytes = had - from < sizeof(zeros) ? had - from : sizeof(zeros);

	if (!memcmp(cuts_data + from, zeros, bytes))
		from += bytes;
	while (from < had && !cuts_data[from])
		from++;
	return from;
}

size_t extended_had(const struct load *load, int number, size_t had,
		    struct finding *finding)
{
	const char *path = load->name[number].path;
	size_t stale, end, now;

	if (!extend_is_longer(number))
		return had;
	end = names[number].end;
	now = end + EXTENDED_BYTES;
	if (had != now)
		cuts_found(finding, NOT_AFTER,
			   "%s: made longer to %zu bytes, it has %zu", path,
			   now, had);
	if (had <= end)
		return had;
	stale = first_stale(end, had);
	if (stale < had)
		cuts_found(finding, BEHIND,
			   "%s: made longer, byte %zu of %zu is %u, not 0",
			   path, stale, had, cuts_data[stale]);
	return end;
}
