// SPDX-License-Identifier: GPL-2.0-or-later
/* Ways to read; see access.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "access.h"
#include "checked.h"
#include "diag.h"

static void page_lost(int signal)
{
	static const char said[] =
		"readbench: a page of the mapped file cannot be read\n";
	ssize_t ignored = write(STDERR_FILENO, said, sizeof(said) - 1);

	(void)signal;
	(void)ignored;
	_exit(EXIT_RUN_FAILED);
}

int access_prepare(void)
{
	struct sigaction action = {.sa_handler = page_lost};

	return sigaction(SIGBUS, &action, NULL)
		       ? fail_errno("set the handler of", "SIGBUS")
		       : 0;
}

/* Where the last request ended. */
static int ask_here(struct reader *reader, uint64_t offset, uint64_t bytes)
{
	(void)offset;
	return checked_read(reader->fd, reader->buffer, bytes, reader->path);
}

static int ask_there(struct reader *reader, uint64_t offset, uint64_t bytes)
{
	if (lseek(reader->fd, (off_t)offset, SEEK_SET) < 0)
		return fail_errno("seek in", reader->path);
	return checked_read(reader->fd, reader->buffer, bytes, reader->path);
}

static int ask_pread(struct reader *reader, uint64_t offset, uint64_t bytes)
{
	ssize_t done = pread(reader->fd, reader->buffer, bytes, (off_t)offset);

	if (done == (ssize_t)bytes)
		return 0;
	if (done < 0)
		return fail_errno("read", reader->path);
	return fail("short read: %zd of %llu bytes came from '%s'", done,
		    (unsigned long long)bytes, reader->path);
}

static int ask_map(struct reader *reader, uint64_t offset, uint64_t bytes)
{
	uint64_t last = (offset + bytes - 1) / reader->page;

	for (uint64_t page = offset / reader->page; page <= last; page++)
		(void)reader->map[page * reader->page];
	return 0;
}

static void choose(struct reader *reader, const struct point *point)
{
	bool on = (point->pattern == SEQUENTIAL || point->pattern == HEAD) &&
		  !point->reopen;

	switch ((enum access)point->access) {
	case ACCESS_READ:
		reader->ask = on ? ask_here : ask_there;
		return;
	case ACCESS_PREAD:
		reader->ask = ask_pread;
		return;
	case ACCESS_MMAP:
		reader->ask = ask_map;
		return;
	}
}

static int map(struct reader *reader)
{
	void *at =
		mmap(NULL, reader->bytes, PROT_READ, MAP_SHARED, reader->fd, 0);

	if (at == MAP_FAILED)
		return fail_errno("map", reader->path);
	reader->map = at;
	return 0;
}

/* What each call takes for the advice, by the number in advice_names. */
static const struct {
	int fadvise, madvise;
} advices[] = {
	{-1, -1},
	{POSIX_FADV_NORMAL, -1},
	{POSIX_FADV_RANDOM, -1},
	{POSIX_FADV_SEQUENTIAL, -1},
	{POSIX_FADV_WILLNEED, -1},
	{-1, MADV_NORMAL},
	{-1, MADV_RANDOM},
	{-1, MADV_SEQUENTIAL},
	{-1, MADV_WILLNEED},
};

static int advise(const struct reader *reader, int advice)
{
	if (advices[advice].fadvise >= 0) {
		errno = posix_fadvise(reader->fd, 0, 0,
				      advices[advice].fadvise);
		if (errno)
			return fail_errno("advise on", reader->path);
	}
	if (advices[advice].madvise >= 0 &&
	    madvise((void *)reader->map, reader->bytes,
		    advices[advice].madvise))
		return fail_errno("advise on the map of", reader->path);
	return 0;
}

int access_open(struct reader *reader, const struct point *point,
		const char *path, uint64_t bytes, unsigned char *buffer)
{
	memset(reader, 0, sizeof(*reader));
	reader->path = path;
	reader->bytes = bytes;
	reader->buffer = buffer;
	reader->page = (uint64_t)sysconf(_SC_PAGESIZE);
	choose(reader, point);
	reader->fd = checked_open(path, O_RDONLY, 0);
	if (reader->fd < 0)
		return -1;
	if ((point->access == ACCESS_MMAP && map(reader)) ||
	    advise(reader, point->advice)) {
		access_close(reader);
		return -1;
	}
	return 0;
}

int access_close(struct reader *reader)
{
	int error = 0;

	if (reader->map && munmap((void *)reader->map, reader->bytes))
		error = fail_errno("unmap", reader->path);
	return checked_close(reader->fd, reader->path) ? -1 : error;
}
