// SPDX-License-Identifier: GPL-2.0-or-later
/* The files that are read; see files.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "diag.h"
#include "files.h"

#define CHUNK 65536u

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void files_open(struct files *files, const char *folder, uint64_t count,
		uint64_t bytes_min, uint64_t bytes_max, uint64_t seed)
{
	uint64_t state = seed;

	files->folder = folder;
	files->count = count;
	files->all = allocate(count, sizeof(*files->all), "the files");
	payload_open(&files->payload, PAYLOAD_RANDOM, seed, 0, CHUNK);
	for (uint64_t i = 0; i < count; i++) {
		struct file *file = &files->all[i];

		file->path =
			text("%s/read.%06llu", folder, (unsigned long long)i);
		file->bytes = bytes_min + payload_draw(&state) %
						  (bytes_max - bytes_min + 1);
		files->bytes += file->bytes;
	}
}

void files_close(struct files *files)
{
	for (uint64_t i = 0; i < files->count; i++)
		free(files->all[i].path);
	free(files->all);
	payload_close(&files->payload);
}

static int put(struct files *files, struct file *file, int fd, uint64_t *done)
{
	payload_align(&files->payload);
	file->at = files->payload.at;
	for (uint64_t left = file->bytes; left;) {
		uint64_t bytes = least(left, CHUNK);

		if (checked_write(fd, payload_next(&files->payload, bytes),
				  bytes, file->path))
			return -1;
		left -= bytes;
		*done += bytes;
	}
	return 0;
}

static int write_file(struct files *files, struct file *file, uint64_t *done)
{
	int fd = checked_open(file->path, O_WRONLY | O_CREAT | O_EXCL, 0644);
	int error;

	if (fd < 0)
		return -1;
	error = put(files, file, fd, done);
	return checked_close(fd, file->path) ? -1 : error;
}

int files_write(struct files *files)
{
	uint64_t done = 0;
	int error = 0;

	for (uint64_t i = 0; i < files->count && !error; i++)
		error = write_file(files, &files->all[i], &done);
	if (!error)
		error = checked_syncfs(files->folder);
	if (error && diag_errno() == ENOSPC)
		fail("the files do not fit: of %llu bytes, %llu were written; "
		     "give fewer or smaller files, or a larger partition",
		     (unsigned long long)files->bytes,
		     (unsigned long long)done);
	return error;
}

int files_check(const struct files *files, const struct file *file,
		const unsigned char *data, uint64_t offset, uint64_t bytes)
{
	while (bytes) {
		size_t at = (file->at + offset) % PAYLOAD_REPEAT;
		uint64_t now = least(bytes, CHUNK);

		if (memcmp(data, files->payload.pool + at, now) != 0)
			return fail("%s: of %llu bytes from %llu, some are not "
				    "what was written",
				    file->path, (unsigned long long)now,
				    (unsigned long long)offset);
		data += now;
		offset += now;
		bytes -= now;
	}
	return 0;
}
