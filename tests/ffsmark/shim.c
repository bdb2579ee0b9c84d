/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Logs each file operation of a dynamically linked program to $OPLOG, one "path
 * size kind" a file closed; and makes the write() number $FAIL_WRITE fail with
 * ENOSPC.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *names[1024];
static long long written[1024], got[1024];
static int writes;

static void note(const char *what, const char *path, long long size)
{
	static ssize_t (*real)(int, const void *, size_t);
	static int (*real_open)(const char *, int, ...);
	static int fd = -2;
	char line[4096];

	if (!real) {
		real = dlsym(RTLD_NEXT, "write");
		real_open = dlsym(RTLD_NEXT, "open");
	}
	if (fd == -2)
		fd = getenv("OPLOG")
			     ? real_open(getenv("OPLOG"),
					 O_WRONLY | O_CREAT | O_APPEND, 0600)
			     : -1;
	if (fd < 0)
		return;
	if (real(fd, line,
		 snprintf(line, sizeof(line), "%s %s %lld\n", what, path,
			  size)) < 0)
		abort();
}

static int opened(const char *path, int flags, int mode)
{
	static int (*real)(const char *, int, ...);
	int fd;

	if (!real)
		real = dlsym(RTLD_NEXT, "open");
	fd = real(path, flags, mode);
	if (fd >= 0 && fd < 1024 && !(flags & O_DIRECTORY)) {
		names[fd] = strdup(path);
		written[fd] = got[fd] = 0;
		note(flags & O_CREAT	? "create"
		     : flags & O_APPEND ? "append"
					: "read",
		     path, 0);
	}
	return fd;
}

int open(const char *path, int flags, ...)
{
	va_list args;
	int mode;

	va_start(args, flags);
	mode = va_arg(args, int);
	va_end(args);
	return opened(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
	va_list args;
	int mode;

	va_start(args, flags);
	mode = va_arg(args, int);
	va_end(args);
	return opened(path, flags, mode);
}

ssize_t write(int fd, const void *data, size_t size)
{
	static ssize_t (*real)(int, const void *, size_t);
	ssize_t done;

	if (!real)
		real = dlsym(RTLD_NEXT, "write");
	if (fd > 2 && getenv("FAIL_WRITE") &&
	    ++writes >= atoi(getenv("FAIL_WRITE"))) {
		errno = ENOSPC;
		return -1;
	}
	done = real(fd, data, size);
	if (fd < 1024 && names[fd] && done > 0)
		written[fd] += done;
	return done;
}

ssize_t read(int fd, void *data, size_t size)
{
	static ssize_t (*real)(int, void *, size_t);
	ssize_t done;

	if (!real)
		real = dlsym(RTLD_NEXT, "read");
	done = real(fd, data, size);
	if (fd < 1024 && names[fd] && done > 0)
		got[fd] += done;
	return done;
}

int close(int fd)
{
	static int (*real)(int);

	if (!real)
		real = dlsym(RTLD_NEXT, "close");
	if (fd >= 0 && fd < 1024 && names[fd]) {
		note("close", names[fd], written[fd] + got[fd]);
		free(names[fd]);
		names[fd] = NULL;
	}
	return real(fd);
}

int unlink(const char *path)
{
	static int (*real)(const char *);

	if (!real)
		real = dlsym(RTLD_NEXT, "unlink");
	note("delete", path, 0);
	return real(path);
}

int remove(const char *path)
{
	static int (*real)(const char *);

	if (!real)
		real = dlsym(RTLD_NEXT, "remove");
	note("delete", path, 0);
	return real(path);
}
