// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * filetree fill: one file of data until there is no space, or of a share of the
 * bytes that statvfs(2) says are free; then an fsync(2).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "command.h"
#include "diag.h"
#include "stop.h"

/* Bytes that are free for us where @file will be. */
static int free_bytes(const char *file, double *bytes)
{
	const char *slash = strrchr(file, '/');
	char *folder = !slash ? text(".")
		       : slash == file
			       ? text("/")
			       : text("%.*s", (int)(slash - file), file);
	struct statvfs size;
	int error = 0;

	if (statvfs(folder, &size))
		error = fail_errno("get the size of the file system of",
				   folder);
	else
		*bytes = (double)size.f_bavail * (double)size.f_frsize;
	free(folder);
	return error;
}

/* Write @goal bytes, or all that there is space for if @goal is UINT64_MAX. */
static int put(const struct request *request, struct found *found, int fd,
	       uint64_t goal)
{
	struct payload payload;
	int error = 0;

	request_payload(request, &payload);
	while (found->calls.written < goal && !error) {
		uint64_t left = goal - found->calls.written;
		size_t part = left < PIECE ? (size_t)left : PIECE;

		if (stop_wanted())
			error = -1;
		else
			error = call_write(&found->calls, fd,
					   payload_next(&payload, part), part,
					   request->place);
	}
	payload_close(&payload);
	return error;
}

static int fill_file(const struct request *request, struct found *found, int fd,
		     double there)
{
	bool all = !request->share;
	uint64_t goal = all ? UINT64_MAX : (uint64_t)(request->share * there);

	found->calls.awaited = ENOSPC;
	if (put(request, found, fd, goal)) {
		if (stop_wanted() || found->calls.error != ENOSPC)
			return -1;
		if (!all)
			return fail("no space is left after %llu bytes of the "
				    "%llu that were to be written; they stay",
				    (unsigned long long)found->calls.written,
				    (unsigned long long)goal);
	}
	found->calls.awaited = 0;
	return call_fsync(&found->calls, fd, request->place);
}

int fill_run(struct request *request, struct found *found)
{
	double there = 0;
	int fd, error;

	if (free_bytes(request->place, &there))
		return -1;
	fd = call_create(&found->calls, request->place);
	if (fd < 0)
		return -1;
	error = fill_file(request, found, fd, there);
	found->tally.files = 1;
	found->tally.bytes = found->calls.written;
	return call_close(&found->calls, fd, request->place) ? -1 : error;
}
