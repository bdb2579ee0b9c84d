// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Directories that are read while they change.
 *
 * They are read with getdents64 into a buffer of a few entries, so that the
 * file system has to find its place again each time. What is seen depends on
 * the file system's order and cannot be compared. But an entry that exists from
 * the opening to the end must be seen exactly once, whatever else is created or
 * removed, and a name that never existed must not be seen.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "diag.h"
#include "fsops.h"

#define FEW_BYTES 64 /* two entries with short names */
#define ANY_BYTES 4096

struct entry {
	uint64_t inode;
	int64_t offset;
	unsigned short size;
	unsigned char type;
	char name[];
};

struct directory {
	int fd; /* descriptor plus one; 0: closed */
	struct names at_start;
	struct names seen;
	struct names touched;
};

static struct directory directories[SLOTS];

/* Reads once; returns bytes (0 at the end) or -1, and adds to @names. */
static long read_piece(int fd, size_t room, struct names *names)
{
	static char buffer[ANY_BYTES] __attribute__((aligned(8)));
	long got = syscall(SYS_getdents64, fd, buffer, room);

	/* there was no room for even one entry */
	if (got < 0 && errno == EINVAL && room < ANY_BYTES)
		got = syscall(SYS_getdents64, fd, buffer, (size_t)ANY_BYTES);
	for (long at = 0; at < got;) {
		const struct entry *entry = (const void *)(buffer + at);

		names_add(names, entry->name);
		at += entry->size;
	}
	return got;
}

static int read_whole(int fd, size_t room, struct names *names)
{
	long got;

	while ((got = read_piece(fd, room, names)) > 0)
		;
	return got < 0 ? -1 : 0;
}

/* All names that exist now, read through an open file of its own. */
static int snapshot(int fd, struct names *names)
{
	int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int error;

	if (again < 0)
		return -1;
	error = read_whole(again, ANY_BYTES, names);
	close(again);
	return error;
}

static void close_directory(struct directory *directory)
{
	if (directory->fd)
		close(directory->fd - 1);
	names_clear(&directory->at_start);
	names_clear(&directory->seen);
	names_clear(&directory->touched);
	directory->fd = 0;
}

void dir_close_all(void)
{
	for (size_t i = 0; i < SLOTS; i++)
		close_directory(&directories[i]);
}

void dir_touched(const char *path)
{
	const char *slash = strrchr(path, '/');

	for (size_t i = 0; i < SLOTS; i++)
		if (directories[i].fd)
			names_add(&directories[i].touched,
				  slash ? slash + 1 : path);
}

void dir_open(const struct args *args)
{
	struct directory *directory = &directories[args->slot];
	int fd;

	close_directory(directory);
	fd = open(args->path[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || snapshot(fd, &directory->at_start)) {
		say(-1);
		if (fd >= 0)
			close(fd);
		return;
	}
	directory->fd = fd + 1;
	say(0);
}

void dir_read(const struct args *args)
{
	struct directory *directory = &directories[args->slot];
	long got = 1;

	for (uint64_t i = 0; i < args->number[0] && got > 0; i++)
		got = read_piece(directory->fd - 1, FEW_BYTES,
				 &directory->seen);
	say(got < 0 ? -1 : 0);
}

static void judge(const struct directory *directory, const struct names *now,
		  const char *name)
{
	size_t seen = names_count(&directory->seen, name);
	bool before = names_count(&directory->at_start, name);
	bool after = names_count(now, name);

	if (names_count(&directory->touched, name))
		return;
	if (before && after && !seen)
		printf(" missing:%s", name);
	if (seen > 1)
		printf(" repeated:%s", name);
	if (seen && !before && !after)
		printf(" never-was:%s", name);
}

/* Reads the rest, and prints what was wrong with all that was seen. */
void dir_end(const struct args *args)
{
	struct directory *directory = &directories[args->slot];
	struct names all = {0}, now = {0};

	if (read_whole(directory->fd - 1, FEW_BYTES, &directory->seen) ||
	    snapshot(directory->fd - 1, &now)) {
		say(-1);
		names_clear(&now);
		close_directory(directory);
		return;
	}
	for (size_t i = 0; i < directory->at_start.count; i++)
		names_add(&all, directory->at_start.at[i]);
	for (size_t i = 0; i < directory->seen.count; i++)
		if (!names_count(&all, directory->seen.at[i]))
			names_add(&all, directory->seen.at[i]);
	names_sort(&all);
	printf("read");
	for (size_t i = 0; i < all.count; i++)
		judge(directory, &now, all.at[i]);
	putchar('\n');
	names_clear(&all);
	names_clear(&now);
	close_directory(directory);
}
