/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Logs to $CALLS what a dynamically linked program asks of the files whose name
 * begins with "read.", and its pauses and drops, a line each:
 *
 *   open FLAGS, close, seek OFFSET, read BYTES, pread OFFSET BYTES,
 *   map BYTES PROT FLAGS, fadvise ADVICE, madvise ADVICE, sleep US, drop WORD
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

enum kind { OTHER, DATA, DROP };

static enum kind kinds[1024];

static void note(const char *format, ...)
{
	static int fd = -1;
	char line[256];
	va_list args;
	int length;

	if (fd < 0)
		fd = (int)syscall(SYS_openat, AT_FDCWD, getenv("CALLS"),
				  O_WRONLY | O_CREAT | O_APPEND, 0600);
	va_start(args, format);
	length = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (syscall(SYS_write, fd, line, length) != length)
		abort();
}

static enum kind kind_of(int fd)
{
	return fd >= 0 && fd < 1024 ? kinds[fd] : OTHER;
}

int open64(const char *path, int flags, ...)
{
	const char *slash = strrchr(path, '/');
	va_list args;
	int mode, fd;

	va_start(args, flags);
	mode = va_arg(args, int);
	va_end(args);
	fd = REAL(open64)(path, flags, mode);
	if (fd < 0 || fd >= 1024)
		return fd;
	kinds[fd] = slash && !strncmp(slash, "/read.", 6) ? DATA
		    : slash && !strcmp(slash, "/drop")	  ? DROP
							  : OTHER;
	if (kinds[fd] == DATA)
		note("open %d\n", flags & ~O_CLOEXEC);
	return fd;
}

int close(int fd)
{
	if (kind_of(fd) == DATA)
		note("close\n");
	if (fd >= 0 && fd < 1024)
		kinds[fd] = OTHER;
	return REAL(close)(fd);
}

off64_t lseek64(int fd, off64_t offset, int whence)
{
	if (kind_of(fd) == DATA)
		note("seek %lld\n", (long long)offset);
	return REAL(lseek64)(fd, offset, whence);
}

ssize_t read(int fd, void *data, size_t size)
{
	if (kind_of(fd) == DATA)
		note("read %zu\n", size);
	return REAL(read)(fd, data, size);
}

ssize_t pread64(int fd, void *data, size_t size, off64_t offset)
{
	if (kind_of(fd) == DATA)
		note("pread %lld %zu\n", (long long)offset, size);
	return REAL(pread64)(fd, data, size, offset);
}

ssize_t write(int fd, const void *data, size_t size)
{
	if (kind_of(fd) == DROP)
		note("drop %.*s", (int)size, (const char *)data);
	return REAL(write)(fd, data, size);
}

void *mmap64(void *at, size_t size, int prot, int flags, int fd, off64_t offset)
{
	if (kind_of(fd) == DATA)
		note("map %zu %d %d\n", size, prot, flags);
	return REAL(mmap64)(at, size, prot, flags, fd, offset);
}

int posix_fadvise64(int fd, off64_t offset, off64_t size, int advice)
{
	if (kind_of(fd) == DATA)
		note("fadvise %d\n", advice);
	return REAL(posix_fadvise64)(fd, offset, size, advice);
}

int madvise(void *at, size_t size, int advice)
{
	note("madvise %d\n", advice);
	return REAL(madvise)(at, size, advice);
}

static void note_sleep(const struct timespec *wanted)
{
	note("sleep %lld\n",
	     (long long)wanted->tv_sec * 1000000 + wanted->tv_nsec / 1000);
}

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
	note_sleep(wanted);
	return REAL(nanosleep)(wanted, left);
}

int clock_nanosleep(clockid_t id, int flags, const struct timespec *wanted,
		    struct timespec *left)
{
	note_sleep(wanted);
	return REAL(clock_nanosleep)(id, flags, wanted, left);
}
