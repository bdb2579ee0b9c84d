/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What FFSMark does to a file, each time with open and close, in blocks, with
 * every call checked. Either by system calls, or through stdio with a buffer of
 * the size that stdio itself would choose (one st_blksize).
 */
#ifndef FFSMARK_IO_H
#define FFSMARK_IO_H

#include <stdbool.h>
#include <stdint.h>

#include "payload.h"

struct io {
	bool buffering;
	uint64_t read_block;	 /* bytes */
	uint64_t write_block;	 /* bytes */
	struct payload *payload; /* what is written */
	char *read_buffer;	 /* @read_block bytes */
	char *stdio_buffer;	 /* @stdio_size bytes; outlives an open file */
	uint64_t stdio_size;
};

/* @location is a directory of the file system to work on. */
int io_open(struct io *io, const char *location, struct payload *payload);
void io_close(struct io *io);

/* Fails if the file exists: a benchmark must not overwrite what it finds. */
int io_create(struct io *io, const char *path, uint64_t size);
int io_append(struct io *io, const char *path, uint64_t size);
/* Fails if the file holds less than @size bytes. */
int io_read(struct io *io, const char *path, uint64_t size);

#endif
