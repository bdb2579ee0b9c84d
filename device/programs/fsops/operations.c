// SPDX-License-Identifier: GPL-2.0-or-later
/* The operations of fsops, each a function and a line in the table below. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "diag.h"
#include "fsops.h"
#include "pagecache.h"
#include "payload.h"

#define PAYLOADS 16 /* kinds of data; odd ones compress by half */

static int files[SLOTS] = {-1, -1, -1, -1};
static struct mapping {
	void *at; /* NULL: none */
	size_t size;
} mappings[SLOTS];
static sigjmp_buf after_bus_error;

/* A shared mapping that was written through stays until this is called. */
static void unmap(size_t slot)
{
	if (mappings[slot].at)
		munmap(mappings[slot].at, mappings[slot].size);
	mappings[slot].at = NULL;
}

void files_close_all(void)
{
	for (size_t i = 0; i < SLOTS; i++) {
		unmap(i);
		if (files[i] >= 0)
			close(files[i]);
		files[i] = -1;
	}
}

static void op_open(const struct args *args)
{
	int flags = strchr(args->word, 'r') ? O_RDONLY : O_RDWR;

	flags |= strchr(args->word, 'c') ? O_CREAT : 0;
	flags |= strchr(args->word, 'x') ? O_EXCL : 0;
	flags |= strchr(args->word, 't') ? O_TRUNC : 0;
	flags |= strchr(args->word, 'a') ? O_APPEND : 0;
	unmap(args->slot);
	if (files[args->slot] >= 0)
		close(files[args->slot]);
	dir_touched(args->path[0]);
	files[args->slot] = open(args->path[0], flags | O_CLOEXEC, 0644);
	say(files[args->slot]);
}

static void op_close(const struct args *args)
{
	int result;

	unmap(args->slot);
	result = close(files[args->slot]);
	files[args->slot] = -1;
	say(result);
}

/* @size bytes of the kind that @seed chooses, from an offset that it
 * chooses. */
static const void *data_of(uint64_t seed, uint64_t size)
{
	static struct payload payloads[PAYLOADS];
	struct payload *payload = &payloads[seed % PAYLOADS];

	if (!payload->pool)
		payload_open(payload, PAYLOAD_RANDOM, seed % PAYLOADS,
			     seed % 2 ? 0.5 : 0.0, IO_PIECE);
	payload->at = seed * 251 % PAYLOAD_REPEAT;
	return payload_next(payload, size);
}

static void say_count(ssize_t count)
{
	if (count < 0)
		say(-1);
	else
		printf("%zd\n", count);
}

static uint64_t at_most(uint64_t size)
{
	return size < IO_PIECE ? size : IO_PIECE;
}

static void op_write(const struct args *args)
{
	uint64_t size = at_most(args->number[1]);

	say_count(pwrite(files[args->slot], data_of(args->number[2], size),
			 size, (off_t)args->number[0]));
}

static void op_put(const struct args *args)
{
	uint64_t size = at_most(args->number[0]);

	say_count(
		write(files[args->slot], data_of(args->number[1], size), size));
}

static void op_read(const struct args *args)
{
	static char data[IO_PIECE];
	ssize_t got = pread(files[args->slot], data, at_most(args->number[1]),
			    (off_t)args->number[0]);

	if (got < 0)
		say(-1);
	else
		printf("%zd %016llx\n", got,
		       (unsigned long long)hash_more(HASH_START, data,
						     (size_t)got));
}

static void on_bus_error(int number)
{
	(void)number;
	siglongjmp(after_bus_error, 1);
}

/* Print length and hash; past the end of the file, the last page must be
 * zero. */
static void say_mapped(const unsigned char *map, size_t from, size_t to)
{
	size_t page_end = (to + 4095) / 4096 * 4096;
	bool zero = true;

	for (size_t i = to; i < page_end; i++)
		zero = zero && !map[i];
	printf("%zu %016llx%s\n", to - from,
	       (unsigned long long)hash_more(HASH_START, map + from, to - from),
	       zero ? "" : " with bytes past the end");
}

/*
 * Find the end of the part of a file that the numbers name (offset, size). 0,
 * or -1 after printing why there is no such part.
 */
static int mapped_part(const struct args *args, uint64_t *to, struct stat *st)
{
	uint64_t from = args->number[0];

	if (fstat(files[args->slot], st)) {
		say(-1);
		return -1;
	}
	if (!S_ISREG(st->st_mode)) { /* a directory's size can be anything */
		puts("not a file");
		return -1;
	}
	*to = from + at_most(args->number[1]);
	if (*to > (uint64_t)st->st_size)
		*to = (uint64_t)st->st_size;
	if (from >= *to) {
		puts("past the end");
		return -1;
	}
	return 0;
}

/* Print a mapped file from number[0] to its end, at most number[1] bytes. */
static void say_map(const struct args *args, int sharing)
{
	struct stat st;
	uint64_t from = args->number[0], to;
	unsigned char *map;

	if (mapped_part(args, &to, &st))
		return;
	map = mmap(NULL, to, PROT_READ, sharing, files[args->slot], 0);
	if (map == MAP_FAILED) {
		say(-1);
		return;
	}
	signal(SIGBUS, on_bus_error);
	/* only if it ends with the file is the rest of its page past the end */
	if (sigsetjmp(after_bus_error, 1))
		puts("SIGBUS");
	else if (to == (uint64_t)st.st_size)
		say_mapped(map, from, to);
	else
		printf("%llu %016llx\n", (unsigned long long)(to - from),
		       (unsigned long long)hash_more(HASH_START, map + from,
						     to - from));
	munmap(map, to);
}

/* Private: some file systems have no shared mapping of a writable file. */
static void op_mapread(const struct args *args)
{
	say_map(args, MAP_PRIVATE);
}

static void op_mapshared(const struct args *args)
{
	say_map(args, MAP_SHARED);
}

/* Write those of the bytes that the file has, through a shared mapping that
 * stays. */
static void op_mapwrite(const struct args *args)
{
	struct mapping *mapping = &mappings[args->slot];
	uint64_t from = args->number[0], to;
	struct stat st;
	void *at;

	if (mapped_part(args, &to, &st))
		return;
	at = mmap(NULL, to, PROT_READ | PROT_WRITE, MAP_SHARED,
		  files[args->slot], 0);
	if (at == MAP_FAILED) {
		say(-1);
		return;
	}
	unmap(args->slot);
	*mapping = (struct mapping){at, to};
	signal(SIGBUS, on_bus_error);
	if (sigsetjmp(after_bus_error, 1)) {
		puts("SIGBUS");
		return;
	}
	memcpy((char *)at + from, data_of(args->number[2], to - from),
	       to - from);
	printf("%llu\n", (unsigned long long)(to - from));
}

static void op_ftrunc(const struct args *args)
{
	say(ftruncate(files[args->slot], (off_t)args->number[0]));
}

static void op_trunc(const struct args *args)
{
	say(truncate(args->path[0], (off_t)args->number[0]));
}

static void op_fsync(const struct args *args)
{
	say(fsync(files[args->slot]));
}

static void op_fstat(const struct args *args)
{
	struct stat st;

	if (fstat(files[args->slot], &st))
		say(-1);
	else
		say_stat(&st, "");
}

static void op_stat(const struct args *args)
{
	struct stat st;

	if (lstat(args->path[0], &st))
		say(-1);
	else
		say_stat(&st, "");
}

static void op_rename(const struct args *args)
{
	dir_touched(args->path[0]);
	dir_touched(args->path[1]);
	say(rename(args->path[0], args->path[1]));
}

/* Rename, but never over an existing name. */
static void op_move(const struct args *args)
{
	dir_touched(args->path[0]);
	dir_touched(args->path[1]);
	say(renameat2(AT_FDCWD, args->path[0], AT_FDCWD, args->path[1],
		      RENAME_NOREPLACE));
}

static void op_link(const struct args *args)
{
	say(link(args->path[0], args->path[1]));
}

static void op_symlink(const struct args *args)
{
	say(symlink(args->word, args->path[0]));
}

static void op_readlink(const struct args *args)
{
	char target[4096];
	ssize_t length = readlink(args->path[0], target, sizeof(target));

	if (length < 0)
		say(-1);
	else
		printf("-> %.*s\n", (int)length, target);
}

static void op_unlink(const struct args *args)
{
	dir_touched(args->path[0]);
	say(unlink(args->path[0]));
}

static void op_mkdir(const struct args *args)
{
	dir_touched(args->path[0]);
	say(mkdir(args->path[0], (mode_t)args->number[0]));
}

static void op_rmdir(const struct args *args)
{
	dir_touched(args->path[0]);
	say(rmdir(args->path[0]));
}

static void op_chmod(const struct args *args)
{
	say(chmod(args->path[0], (mode_t)args->number[0]));
}

static void op_utime(const struct args *args)
{
	struct timespec times[2] = {
		{.tv_sec = (time_t)args->number[0]},
		{.tv_sec = (time_t)args->number[0]},
	};

	say(utimensat(AT_FDCWD, args->path[0], times, 0));
}

/* Set an attribute with a prefix that no file system gives a meaning of its
 * own. */
static void op_setxattr(const struct args *args)
{
	uint64_t size = at_most(args->number[0]);
	char *name = text(ATTRIBUTES "%s", args->word);

	say(setxattr(args->path[0], name, data_of(args->number[1], size), size,
		     0));
	free(name);
}

static int forget_attributes(const char *path)
{
	char names[IO_PIECE];
	ssize_t size = listxattr(path, names, sizeof(names));

	for (ssize_t at = 0; at < size; at += (ssize_t)strlen(names + at) + 1)
		if (is_attribute(names + at) && removexattr(path, names + at))
			return -1;
	return size < 0 ? -1 : 0;
}

/* Print the names of all attributes, or 0 if there are none. */
static void op_listattr(const struct args *args)
{
	char list[4096];
	ssize_t bytes = listxattr(args->path[0], list, sizeof(list));

	if (bytes <= 0) {
		say((int)bytes);
		return;
	}
	for (ssize_t at = 0; at < bytes; at += (ssize_t)strlen(list + at) + 1)
		printf("%s ", list + at);
	puts("");
}

static void op_sync(const struct args *args)
{
	(void)args;
	sync();
	say(0);
}

/* Sync the file system that a path is on, by syncfs(2). */
static void op_syncfs(const struct args *args)
{
	int fd = open(args->path[0], O_RDONLY | O_CLOEXEC);

	say(fd < 0 ? -1 : syncfs(fd));
	if (fd >= 0)
		close(fd);
}

static void op_drop(const struct args *args)
{
	(void)args;
	say(pagecache_drop(PAGECACHE_CONTROL));
}

const struct operation operations[] = {
	{"open", "spw", op_open, NULL}, /* flags: r c x t a, or - for none */
	{"close", "s", op_close, NULL},
	{"write", "snnn", op_write, NULL}, /* offset, size, kind of data */
	{"put", "snn", op_put, NULL},	/* size, kind; at the file's position */
	{"read", "snn", op_read, NULL}, /* offset, size */
	{"mapread", "snn", op_mapread, NULL},
	{"mapwrite", "snnn", op_mapwrite, NULL}, /* as write, shared */
	{"mapshared", "snn", op_mapshared, NULL},
	{"ftrunc", "sn", op_ftrunc, NULL},
	{"fsync", "s", op_fsync, NULL},
	{"fstat", "s", op_fstat, NULL},
	{"trunc", "pn", op_trunc, NULL},
	{"stat", "p", op_stat, NULL},
	{"rename", "pp", op_rename, NULL},
	{"move", "pp", op_move, NULL},
	{"link", "pp", op_link, unlink},
	{"symlink", "wp", op_symlink, unlink},
	{"readlink", "p", op_readlink, NULL},
	{"unlink", "p", op_unlink, NULL},
	{"mkdir", "po", op_mkdir, NULL},
	{"rmdir", "p", op_rmdir, NULL},
	{"chmod", "po", op_chmod, NULL},
	{"utime", "pn", op_utime, NULL}, /* seconds since 1970 */
	{"listattr", "p", op_listattr, NULL},
	{"opendir", "sp", dir_open, NULL},
	{"readdir", "sn", dir_read, NULL}, /* pieces of a few entries */
	{"enddir", "s", dir_end, NULL},
	{"setxattr", "pwnn", op_setxattr, forget_attributes}, /* size, kind */
	{"sync", "", op_sync, NULL},
	{"syncfs", "p", op_syncfs, NULL},
	{"cut", "p", cut, NULL}, /* cut power; save the chip to this file */
	{"drop", "", op_drop, NULL},
	{"check", "", walk, NULL},
};

const size_t operations_count = sizeof(operations) / sizeof(*operations);
