// SPDX-License-Identifier: GPL-2.0-or-later
/* System calls counted; see calls.h. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "calls.h"
#include "clock.h"
#include "diag.h"
#include "json.h"

#define ROOM_FIRST 1024 /* calls of a kind; doubled when used up */

static const struct {
	const char *name; /* in JSON */
	const char *verb; /* for messages */
} names[CALLS] = {
	[CALL_MKDIR] = {"mkdir", "make the folder"},
	[CALL_CREATE] = {"create", "create"},
	[CALL_WRITE] = {"write", "write"},
	[CALL_FSYNC] = {"fsync", "fsync"},
	[CALL_LSTAT] = {"lstat", "look at"},
	[CALL_OPEN] = {"open", "open"},
	[CALL_READDIR] = {"readdir", "read the folder"},
	[CALL_READ] = {"read", "read"},
	[CALL_CLOSE] = {"close", "close"},
	[CALL_UNLINK] = {"unlink", "delete"},
	[CALL_RMDIR] = {"rmdir", "remove the folder"},
};

void calls_open(struct calls *calls)
{
	*calls = (struct calls){0};
	for (int i = 0; i < CALLS; i++)
		latency_open(&calls->each[i], ROOM_FIRST);
}

void calls_close(struct calls *calls)
{
	for (int i = 0; i < CALLS; i++)
		latency_close(&calls->each[i]);
}

static void grow(struct latency *latency)
{
	struct latency larger;

	latency_open(&larger, 2 * latency->room);
	memcpy(larger.ns, latency->ns,
	       (size_t)latency->count * sizeof(*larger.ns));
	larger.count = latency->count;
	latency_close(latency);
	*latency = larger;
}

/* Count a call that began at @start and returned @result. */
static long done(struct calls *calls, enum call call, uint64_t start,
		 long result, const char *path)
{
	struct latency *latency = &calls->each[call];
	uint64_t ns = now_ns() - start;

	if (result < 0) {
		calls->error = errno;
		return errno == calls->awaited
			       ? -1
			       : fail_errno(names[call].verb, path);
	}
	if (latency->count == latency->room)
		grow(latency);
	latency_add(latency, ns);
	return result;
}

int call_mkdir(struct calls *calls, const char *path)
{
	uint64_t start = now_ns();

	return (int)done(calls, CALL_MKDIR, start, mkdir(path, 0755), path);
}

int call_create(struct calls *calls, const char *path)
{
	int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
	uint64_t start = now_ns();

	return (int)done(calls, CALL_CREATE, start, open(path, flags, 0644),
			 path);
}

int call_open(struct calls *calls, const char *path, int flags)
{
	uint64_t start = now_ns();

	return (int)done(calls, CALL_OPEN, start, open(path, flags | O_CLOEXEC),
			 path);
}

int call_open_within(struct calls *calls, int root, const char *path)
{
	struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT,
	};
	uint64_t start = now_ns();

	return (int)done(calls, CALL_OPEN, start,
			 syscall(SYS_openat2, root, path, &how, sizeof(how)),
			 path);
}

int call_lstat(struct calls *calls, const char *path, struct stat *st)
{
	uint64_t start = now_ns();

	return (int)done(calls, CALL_LSTAT, start, lstat(path, st), path);
}

long call_readdir(struct calls *calls, int fd, void *room, size_t size,
		  const char *path)
{
	uint64_t start = now_ns();

	return done(calls, CALL_READDIR, start, getdents64(fd, room, size),
		    path);
}

long call_read(struct calls *calls, int fd, void *data, size_t size,
	       const char *path)
{
	uint64_t start = now_ns();
	long got = done(calls, CALL_READ, start, read(fd, data, size), path);

	if (got > 0)
		calls->read += (uint64_t)got;
	return got;
}

int call_write(struct calls *calls, int fd, const void *data, size_t size,
	       const char *path)
{
	const char *at = data;

	/* More than once only after a short write, which hides its reason. */
	while (size) {
		uint64_t start = now_ns();
		long put = done(calls, CALL_WRITE, start, write(fd, at, size),
				path);

		if (put < 0)
			return -1;
		if (!put)
			return fail("a write to '%s' wrote nothing", path);
		calls->written += (uint64_t)put;
		at += put;
		size -= (size_t)put;
	}
	return 0;
}

int call_fsync(struct calls *calls, int fd, const char *path)
{
	uint64_t start = now_ns();

	return (int)done(calls, CALL_FSYNC, start, fsync(fd), path);
}

int call_close(struct calls *calls, int fd, const char *path)
{
	uint64_t start = now_ns();

	return (int)done(calls, CALL_CLOSE, start, close(fd), path);
}

int call_unlink(struct calls *calls, const char *path)
{
	uint64_t start = now_ns();

	return (int)done(calls, CALL_UNLINK, start, unlink(path), path);
}

int call_rmdir(struct calls *calls, const char *path)
{
	uint64_t start = now_ns();

	return (int)done(calls, CALL_RMDIR, start, rmdir(path), path);
}

int calls_json(struct json *json, struct calls *calls)
{
	json_object(json, "operations");
	for (int i = 0; i < CALLS; i++)
		if (calls->each[i].count)
			json_count(json, names[i].name, calls->each[i].count);
	json_end(json);
	json_object(json, "bytes");
	json_count(json, "read", calls->read);
	json_count(json, "written", calls->written);
	json_end(json);
	json_object(json, "latency_ns");
	for (int i = 0; i < CALLS; i++) {
		if (!calls->each[i].count)
			continue;
		if (latency_sort(&calls->each[i]))
			return -1;
		latency_json(json, names[i].name, &calls->each[i]);
	}
	json_end(json);
	return 0;
}
