/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files that are read: random data of the seed, written in order, then
 * synced together.
 */
#ifndef READBENCH_FILES_H
#define READBENCH_FILES_H

#include <stddef.h>
#include <stdint.h>

#include "payload.h"

struct file {
	char *path;
	uint64_t bytes;
	size_t at; /* where in the payload's pool its data begins */
};

struct files {
	const char *folder;
	struct payload payload;
	struct file *all;
	uint64_t count;
	uint64_t bytes; /* of all */
};

/* Name @count files and draw their sizes from the seed; nothing is written. */
void files_open(struct files *files, const char *folder, uint64_t count,
		uint64_t bytes_min, uint64_t bytes_max, uint64_t seed);
void files_close(struct files *files);

/* Write and sync them. None of their names may be taken. */
int files_write(struct files *files);

/* Fail if @data is not what was written at @offset. */
int files_check(const struct files *files, const struct file *file,
		const unsigned char *data, uint64_t offset, uint64_t bytes);

#endif
