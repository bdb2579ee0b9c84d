// SPDX-License-Identifier: GPL-2.0-or-later
/* The file, its model, and the operations on both; see main.c. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checked.h"
#include "diag.h"
#include "fsx.h"
#include "pagecache.h"
#include "payload.h"

#define PAGE  4096
#define SHOWN 16 /* bytes printed of a mismatch */

static sigjmp_buf after_bus_error;

static void on_bus_error(int number)
{
	(void)number;
	siglongjmp(after_bus_error, 1);
}

static int complain(const struct subject *s, const char *what)
{
	return fail("operation %llu, %s %llu+%llu: %s",
		    (unsigned long long)s->now.number, kind_names[s->now.kind],
		    (unsigned long long)s->now.at,
		    (unsigned long long)s->now.size, what);
}

static int complain_errno(const struct subject *s, const char *call)
{
	char *what = text("%s: %s", call, strerror(errno));

	complain(s, what);
	free(what);
	return -1;
}

static void show(const char *title, const unsigned char *bytes, size_t count)
{
	fprintf(stderr, "  %s", title);
	for (size_t i = 0; i < count; i++)
		fprintf(stderr, " %02x", bytes[i]);
	fputc('\n', stderr);
}

/* What was read at @at must be what the model holds there. */
static int compare(const struct subject *s, const unsigned char *got,
		   uint64_t at, uint64_t size)
{
	const unsigned char *expected = s->model + at;
	uint64_t first = 0, wrong = 0, shown;
	char *what;

	if (!memcmp(expected, got, size))
		return 0;
	while (expected[first] == got[first])
		first++;
	for (uint64_t i = first; i < size; i++)
		wrong += expected[i] != got[i];
	what = text("%llu of %llu bytes from %llu on differ, the first at %llu",
		    (unsigned long long)wrong, (unsigned long long)size,
		    (unsigned long long)at, (unsigned long long)(at + first));
	complain(s, what);
	free(what);
	shown = size - first < SHOWN ? size - first : SHOWN;
	show("expected", expected + first, shown);
	show("got     ", got + first, shown);
	return -1;
}

static int check_size(const struct subject *s)
{
	struct stat st;
	char *what;

	if (fstat(s->fd, &st))
		return complain_errno(s, "fstat");
	if ((uint64_t)st.st_size == s->size)
		return 0;
	what = text("the file has %lld bytes, expected %llu",
		    (long long)st.st_size, (unsigned long long)s->size);
	complain(s, what);
	free(what);
	return -1;
}

static int read_and_compare(struct subject *s, uint64_t at, uint64_t size)
{
	ssize_t got = pread(s->fd, s->buffer, size, (off_t)at);

	if (got < 0)
		return complain_errno(s, "read");
	if ((uint64_t)got != size)
		return complain(s, "the read came back short");
	return compare(s, s->buffer, at, size);
}

int subject_verify(struct subject *s)
{
	return check_size(s) ? -1 : read_and_compare(s, 0, s->size);
}

/* Put new bytes into the model at the drawn place; in every second operation
 * half of them are zero. */
static void renew(struct subject *s)
{
	unsigned char *to = s->model + s->now.at;
	bool compresses = s->now.number % 2;

	for (uint64_t i = 0; i < s->now.size; i += sizeof(uint64_t)) {
		uint64_t random = payload_draw(&s->random);
		uint64_t left = s->now.size - i;

		if (compresses && i / 128 % 2)
			random = 0;
		memcpy(to + i, &random, left < 8 ? left : 8);
	}
}

/* The file now ends at @size; the new part of it is zero. */
static void resize(struct subject *s, uint64_t size)
{
	if (size > s->size)
		memset(s->model + s->size, 0, size - s->size);
	s->size = size;
}

static int do_write(struct subject *s)
{
	uint64_t end = s->now.at + s->now.size;
	ssize_t done;

	if (end > s->size)
		resize(s, end);
	renew(s);
	done = pwrite(s->fd, s->model + s->now.at, s->now.size,
		      (off_t)s->now.at);
	if (done < 0)
		return complain_errno(s, "write");
	return (uint64_t)done == s->now.size
		       ? 0
		       : complain(s, "the write came back short");
}

static int do_truncate(struct subject *s)
{
	if (ftruncate(s->fd, (off_t)s->now.size))
		return complain_errno(s, "ftruncate");
	resize(s, s->now.size);
	return 0;
}

/* Private: some file systems have no shared mapping of a writable file. */
static int do_map_read(struct subject *s)
{
	uint64_t from = s->now.at / PAGE * PAGE, end = s->now.at + s->now.size;
	uint64_t tail = end == s->size ? (PAGE - end % PAGE) % PAGE : 0;
	volatile int error = 0;
	unsigned char *map = mmap(NULL, end - from, PROT_READ, MAP_PRIVATE,
				  s->fd, (off_t)from);

	if (map == MAP_FAILED)
		return complain_errno(s, "mmap");
	if (sigsetjmp(after_bus_error, 1)) {
		error = complain(s, "SIGBUS");
	} else {
		error = compare(s, map + (s->now.at - from), s->now.at,
				s->now.size);
		for (uint64_t i = 0; !error && i < tail; i++)
			if (map[end - from + i])
				error = complain(
					s, "past the file's end the page is "
					   "not zero");
	}
	munmap(map, end - from);
	return error;
}

static int do_map_write(struct subject *s)
{
	uint64_t from = s->now.at / PAGE * PAGE, end = s->now.at + s->now.size;
	volatile int error = 0;
	unsigned char *map = mmap(NULL, end - from, PROT_READ | PROT_WRITE,
				  MAP_SHARED, s->fd, (off_t)from);

	if (s->request->no_map_write) {
		if (map == MAP_FAILED && (errno == EINVAL || errno == ENODEV))
			return 0;
		return complain(s, "was to be refused with EINVAL or ENODEV");
	}
	if (map == MAP_FAILED)
		return complain_errno(s, "mmap");
	renew(s);
	if (sigsetjmp(after_bus_error, 1))
		error = complain(s, "SIGBUS");
	else
		memcpy(map + (s->now.at - from), s->model + s->now.at,
		       s->now.size);
	if (!error && below(s, 2) && msync(map, end - from, MS_SYNC))
		error = complain_errno(s, "msync");
	munmap(map, end - from);
	return error;
}

static int close_file(struct subject *s)
{
	int error = close(s->fd);

	s->fd = -1;
	return error ? complain_errno(s, "close") : 0;
}

static int open_file(struct subject *s)
{
	s->fd = open(s->request->file, O_RDWR | O_CLOEXEC);
	if (s->fd < 0)
		return complain_errno(s, "open");
	return subject_verify(s);
}

static int do_remount(struct subject *s)
{
	if (close_file(s))
		return -1;
	if (system(s->request->remount))
		return complain(s, "the command of --remount failed");
	return open_file(s);
}

static int perform(struct subject *s)
{
	switch (s->now.kind) {
	case READ:
		return read_and_compare(s, s->now.at, s->now.size);
	case MAP_READ:
		return do_map_read(s);
	case WRITE:
	case APPEND:
		return do_write(s);
	case MAP_WRITE:
		return do_map_write(s);
	case SHRINK:
	case GROW:
		return do_truncate(s);
	case SYNC:
		return fsync(s->fd) ? complain_errno(s, "fsync") : 0;
	case REOPEN:
		return close_file(s) ? -1 : open_file(s);
	case DROP:
		if (pagecache_drop(s->request->drop_control))
			return complain_errno(s, "drop caches");
		return subject_verify(s);
	default:
		return do_remount(s);
	}
}

int subject_step(struct subject *s, uint64_t number)
{
	do
		s->now.number = number;
	while (!draw(s));
	if (perform(s))
		return -1;
	s->done[s->now.kind]++;
	return check_size(s);
}

int subject_spoil(struct subject *s)
{
	unsigned char byte;

	if (!s->size)
		resize(s, 1);
	byte = s->model[s->size / 2] ^ 1;
	if (pwrite(s->fd, &byte, 1, (off_t)(s->size / 2)) != 1)
		return complain_errno(s, "write");
	return 0;
}

int subject_open(struct subject *s, const struct request *request)
{
	*s = (struct subject){.request = request, .random = request->seed};
	s->fd = checked_open(request->file, O_RDWR | O_CREAT | O_EXCL, 0644);
	if (s->fd < 0)
		return -1;
	s->model = allocate(request->largest_file, 1, "the model");
	s->buffer = allocate(request->largest_file, 1, "the buffer");
	signal(SIGBUS, on_bus_error);
	return 0;
}

void subject_close(struct subject *s)
{
	if (s->fd >= 0)
		close(s->fd);
	free(s->model);
	free(s->buffer);
}
