// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * filecalls: makes the calls on a file that the command line names, each as
 * often as it says, and no others: known work to test what counts calls.
 *
 * A call is CALL[:TIMES[:OFFSET[:SIZE[:STEP]]]]; STEP is added to the offset
 * each time, and is SIZE if not given. The file is opened once, read and write,
 * and created if it is not there. A call that moves less than asked is a
 * failure and ends the program.
 *
 * Needs nothing. Costs its calls, an open and a close.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "checked.h"
#include "diag.h"

#define SIZE_MAX_BYTES (1 << 20)

struct file {
	const char *path;
	int fd;
	int null;
	char *data;
};

static int moved(const struct file *file, const char *verb, ssize_t got,
		 size_t wanted)
{
	if (got < 0)
		return fail_errno(verb, file->path);
	if ((size_t)got != wanted)
		return fail("%s of '%s' moved %zd of %zu bytes", verb,
			    file->path, got, wanted);
	return 0;
}

static int call_read(struct file *f, off_t at, size_t size)
{
	return moved(f, "read", pread(f->fd, f->data, size, at), size);
}

static int call_write(struct file *f, off_t at, size_t size)
{
	return moved(f, "write", pwrite(f->fd, f->data, size, at), size);
}

static void halves(struct file *f, size_t size, struct iovec *two)
{
	two[0] = (struct iovec){f->data, size / 2};
	two[1] = (struct iovec){f->data + size / 2, size - size / 2};
}

static int call_readv(struct file *f, off_t at, size_t size)
{
	struct iovec two[2];

	halves(f, size, two);
	return moved(f, "readv", preadv(f->fd, two, 2, at), size);
}

static int call_writev(struct file *f, off_t at, size_t size)
{
	struct iovec two[2];

	halves(f, size, two);
	return moved(f, "writev", pwritev(f->fd, two, 2, at), size);
}

static int call_send(struct file *f, off_t at, size_t size)
{
	return moved(f, "sendfile", sendfile(f->null, f->fd, &at, size), size);
}

/* Reads one byte of each page through a mapping. */
static int call_map(struct file *f, off_t at, size_t size)
{
	volatile const char *map;
	size_t i;

	map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, f->fd, at);
	if (map == MAP_FAILED)
		return fail_errno("map", f->path);
	for (i = 0; i < size; i += 4096)
		(void)map[i];
	return munmap((void *)map, size) ? fail_errno("unmap", f->path) : 0;
}

static int call_fsync(struct file *f, off_t at, size_t size)
{
	(void)at;
	(void)size;
	return checked_fsync(f->fd, f->path);
}

static int call_truncate(struct file *f, off_t at, size_t size)
{
	(void)size;
	return ftruncate(f->fd, at) ? fail_errno("truncate", f->path) : 0;
}

/* These four work on names: the file's, with the offset appended. */
static int call_create(struct file *f, off_t at, size_t size)
{
	char *path = text("%s%lld", f->path, (long long)at);
	int fd = checked_open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);

	(void)size;
	free(path);
	return fd < 0 ? -1 : checked_close(fd, f->path);
}

static int call_unlink(struct file *f, off_t at, size_t size)
{
	char *path = text("%s%lld", f->path, (long long)at);
	int err = checked_unlink(path);

	(void)size;
	free(path);
	return err;
}

/* Rename it, and back: two renames. */
static int call_rename(struct file *f, off_t at, size_t size)
{
	char *path = text("%s%lld", f->path, (long long)at);
	char *other = text("%s.other", path);
	int err = rename(path, other) || rename(other, path)
			  ? fail_errno("rename", path)
			  : 0;

	(void)size;
	free(path);
	free(other);
	return err;
}

/* Make a folder and remove it. */
static int call_folder(struct file *f, off_t at, size_t size)
{
	char *path = text("%s.folder%lld", f->path, (long long)at);
	int err = checked_mkdir(path) || checked_rmdir(path) ? -1 : 0;

	(void)size;
	free(path);
	return err;
}

static const struct {
	const char *name;
	int (*make)(struct file *file, off_t at, size_t size);
} calls[] = {
	{"read", call_read},	 {"write", call_write},
	{"readv", call_readv},	 {"writev", call_writev},
	{"send", call_send},	 {"map", call_map},
	{"fsync", call_fsync},	 {"truncate", call_truncate},
	{"create", call_create}, {"unlink", call_unlink},
	{"rename", call_rename}, {"folder", call_folder},
};

#define CALLS (sizeof(calls) / sizeof(*calls))

static int make_calls(struct file *file, const char *words)
{
	unsigned long long n[4] = {1, 0, 1, 1}; /* times, offset, size, step */
	size_t length = strcspn(words, ":"), which = 0;
	const char *rest = words + length;
	unsigned int given = 0;
	unsigned long long i;
	char *end;

	while (which < CALLS && (strlen(calls[which].name) != length ||
				 memcmp(calls[which].name, words, length)))
		which++;
	for (; *rest == ':' && given < 4; rest = end, given++) {
		n[given] = strtoull(rest + 1, &end, 10);
		if (end == rest + 1)
			break;
	}
	if (which == CALLS || *rest || n[2] > SIZE_MAX_BYTES)
		return fail("'%s' is not a CALL[:TIMES[:OFFSET[:SIZE[:STEP]]]]",
			    words);
	if (given < 4)
		n[3] = n[2];
	for (i = 0; i < n[0]; i++)
		if (calls[which].make(file, (off_t)(n[1] + i * n[3]), n[2]))
			return -1;
	return 0;
}

static void usage(void)
{
	size_t i;

	printf("usage: filecalls FILE CALL[:TIMES[:OFFSET[:SIZE[:STEP]]]]...\n"
	       "Makes calls on a file, each TIMES times.\n\nCALL is one of:");
	for (i = 0; i < CALLS; i++)
		printf(" %s", calls[i].name);
	printf("\n");
}

int main(int argc, char **argv)
{
	struct file file = {.fd = -1};
	int i;

	diag_program = "filecalls";
	if (argc < 2 || !strcmp(argv[1], "--help")) {
		usage();
		return argc < 2 ? EXIT_USAGE : EXIT_OK;
	}
	file.path = argv[1];
	file.data = allocate(SIZE_MAX_BYTES, 1, "data");
	file.null = checked_open("/dev/null", O_WRONLY, 0);
	file.fd = checked_open(file.path, O_RDWR | O_CREAT, 0600);
	if (file.null < 0 || file.fd < 0)
		return EXIT_RUN_FAILED;
	for (i = 2; i < argc; i++)
		if (make_calls(&file, argv[i]))
			return EXIT_RUN_FAILED;
	return checked_close(file.fd, file.path) ? EXIT_RUN_FAILED : EXIT_OK;
}
