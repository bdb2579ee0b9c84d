// SPDX-License-Identifier: GPL-2.0-or-later
/* Checked system calls; see checked.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checked.h"
#include "diag.h"

int checked_open(const char *path, int flags, mode_t mode)
{
	int fd = open(path, flags | O_CLOEXEC, mode);

	if (fd >= 0)
		return fd;
	return fail_errno(flags & O_CREAT ? "create" : "open", path);
}

int checked_close(int fd, const char *path)
{
	return close(fd) ? fail_errno("close", path) : 0;
}

int checked_write(int fd, const void *data, size_t size, const char *path)
{
	ssize_t done = write(fd, data, size);

	if (done == (ssize_t)size)
		return 0;
	/* Write once more, only because a short write hides its reason. */
	if (done < 0 ||
	    write(fd, (const char *)data + done, size - (size_t)done) < 0)
		return fail_errno("write", path);
	return fail("short write: %zd of %zu bytes reached '%s'", done, size,
		    path);
}

int checked_read(int fd, void *data, size_t size, const char *path)
{
	ssize_t done = read(fd, data, size);

	if (done == (ssize_t)size)
		return 0;
	if (done < 0)
		return fail_errno("read", path);
	return fail("short read: %zd of %zu bytes came from '%s'", done, size,
		    path);
}

int checked_fsync(int fd, const char *path)
{
	return fsync(fd) ? fail_errno("fsync", path) : 0;
}

int checked_unlink(const char *path)
{
	return unlink(path) ? fail_errno("delete", path) : 0;
}

int checked_mkdir(const char *path)
{
	return mkdir(path, 0700) ? fail_errno("create the directory", path) : 0;
}

int checked_rmdir(const char *path)
{
	return rmdir(path) ? fail_errno("remove the directory", path) : 0;
}

int checked_syncfs(const char *path)
{
	int fd = checked_open(path, O_RDONLY | O_DIRECTORY, 0);
	int error;

	if (fd < 0)
		return -1;
	error = syncfs(fd) ? fail_errno("sync", path) : 0;
	return checked_close(fd, path) ? -1 : error;
}

char *slurp(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t room = 4096, used = 0;
	char *content;
	ssize_t got;

	if (fd < 0)
		return NULL;
	content = allocate(room, 1, "a file's text");
	while ((got = read(fd, content + used, room - used - 1)) > 0) {
		used += (size_t)got;
		if (room - used > 1)
			continue;
		room *= 2;
		content = realloc(content, room);
		if (!content)
			break;
	}
	if (content)
		content[used] = '\0';
	if (got < 0 || !content) {
		int reason = errno;

		free(content);
		close(fd);
		errno = reason;
		return NULL;
	}
	close(fd);
	return content;
}
