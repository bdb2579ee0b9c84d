// SPDX-License-Identifier: GPL-2.0-or-later
/* Files created, appended to and read; see io.h. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "checked.h"
#include "diag.h"
#include "io.h"

int io_open(struct io *io, const char *location, struct payload *payload)
{
	struct stat place;

	if (stat(location, &place))
		return fail_errno("look at the location", location);
	if (!S_ISDIR(place.st_mode))
		return fail("location '%s' is not a directory", location);
	io->payload = payload;
	io->read_buffer = allocate(io->read_block, 1, "the read block");
	io->stdio_size =
		place.st_blksize > 0 ? (uint64_t)place.st_blksize : BUFSIZ;
	io->stdio_buffer = allocate(io->stdio_size, 1, "the stdio buffer");
	return 0;
}

void io_close(struct io *io)
{
	free(io->read_buffer);
	free(io->stdio_buffer);
}

static int write_direct(struct io *io, const char *path, int flags,
			uint64_t size)
{
	int fd = checked_open(path, flags, 0644);
	int error = 0;

	if (fd < 0)
		return -1;
	while (size && !error) {
		size_t block = size < io->write_block ? size : io->write_block;

		error = checked_write(fd, payload_next(io->payload, block),
				      block, path);
		size -= block;
	}
	return checked_close(fd, path) ? -1 : error;
}

static int write_stdio(struct io *io, const char *path, const char *mode,
		       uint64_t size)
{
	FILE *file = fopen(path, mode);
	int error = 0;

	if (!file)
		return fail_errno(*mode == 'w' ? "create" : "open", path);
	setvbuf(file, io->stdio_buffer, _IOFBF, io->stdio_size);
	while (size && !error) {
		size_t block = size < io->write_block ? size : io->write_block;

		if (fwrite_unlocked(payload_next(io->payload, block), block, 1,
				    file) != 1)
			error = fail_errno("write", path);
		size -= block;
	}
	/* The last bytes are written here, so a full disk may show only now. */
	if (fclose(file) && !error)
		error = fail_errno("write", path);
	return error;
}

int io_create(struct io *io, const char *path, uint64_t size)
{
	payload_align(io->payload);
	if (io->buffering)
		return write_stdio(io, path, "wx", size);
	return write_direct(io, path, O_RDWR | O_CREAT | O_EXCL, size);
}

int io_append(struct io *io, const char *path, uint64_t size)
{
	payload_align(io->payload);
	if (io->buffering)
		return write_stdio(io, path, "a", size);
	return write_direct(io, path, O_RDWR | O_APPEND, size);
}

static int read_direct(struct io *io, const char *path, uint64_t size)
{
	int fd = checked_open(path, O_RDONLY, 0);
	int error = 0;

	if (fd < 0)
		return -1;
	while (size && !error) {
		size_t block = size < io->read_block ? size : io->read_block;

		error = checked_read(fd, io->read_buffer, block, path);
		size -= block;
	}
	return checked_close(fd, path) ? -1 : error;
}

static int read_stdio(struct io *io, const char *path, uint64_t size)
{
	FILE *file = fopen(path, "r");
	int error = 0;

	if (!file)
		return fail_errno("open", path);
	setvbuf(file, io->stdio_buffer, _IOFBF, io->stdio_size);
	while (size && !error) {
		size_t block = size < io->read_block ? size : io->read_block;

		if (fread_unlocked(io->read_buffer, block, 1, file) != 1)
			error = feof(file)
					? fail("'%s' is shorter than what was "
					       "written to it",
					       path)
					: fail_errno("read", path);
		size -= block;
	}
	if (fclose(file) && !error)
		error = fail_errno("close", path);
	return error;
}

int io_read(struct io *io, const char *path, uint64_t size)
{
	if (io->buffering)
		return read_stdio(io, path, size);
	return read_direct(io, path, size);
}
