// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stands before the C library and writes down, in the file that CALLS names,
 * each write, fsync, close and rename with the file's own name.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void note(const char *call, const char *path, long bytes)
{
	static int log = -1;
	static ssize_t (*put)(int, const void *, size_t);
	const char *name = strrchr(path, '/');
	char line[512];
	int length;

	if (log < 0) {
		put = dlsym(RTLD_NEXT, "write");
		log = open(getenv("CALLS"), O_WRONLY | O_CREAT | O_APPEND,
			   0644);
	}
	length = snprintf(line, sizeof(line), "%s %s %ld\n", call,
			  name ? name + 1 : path, bytes);
	put(log, line, (size_t)length);
}

static void note_fd(const char *call, int fd, long bytes)
{
	char link[64], path[256];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	if (length < 0)
		return;
	path[length] = 0;
	note(call, path, bytes);
}

ssize_t write(int fd, const void *data, size_t size)
{
	ssize_t (*real)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");

	note_fd("write", fd, (long)size);
	return real(fd, data, size);
}

int fsync(int fd)
{
	int (*real)(int) = dlsym(RTLD_NEXT, "fsync");

	note_fd("fsync", fd, 0);
	return real(fd);
}

int close(int fd)
{
	int (*real)(int) = dlsym(RTLD_NEXT, "close");

	note_fd("close", fd, 0);
	return real(fd);
}

int rename(const char *from, const char *to)
{
	int (*real)(const char *, const char *) = dlsym(RTLD_NEXT, "rename");

	note("rename", from, 0);
	return real(from, to);
}
