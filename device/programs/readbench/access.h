/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file opened for the requests of a point, and the ways to make one.
 *
 * The way is chosen before the first request, so that a request costs its
 * system calls, or its page faults, and one call through a pointer.
 */
#ifndef READBENCH_ACCESS_H
#define READBENCH_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "point.h"

struct reader {
	int fd;
	const char *path;
	unsigned char *buffer;	     /* of read and pread */
	const volatile uint8_t *map; /* of mmap; else NULL */
	uint64_t bytes;		     /* of the file */
	uint64_t page;		     /* bytes of a page of the kernel */
	/* Make one request. */
	int (*ask)(struct reader *reader, uint64_t offset, uint64_t bytes);
};

/* Open @path O_RDONLY, map it if the point says so, and advise. */
int access_open(struct reader *reader, const struct point *point,
		const char *path, uint64_t bytes, unsigned char *buffer);
int access_close(struct reader *reader);

/* Once, by main(): a page that cannot be read ends the program with a reason.
 */
int access_prepare(void);

#endif
