// SPDX-License-Identifier: GPL-2.0-or-later
/* The calls on open files, by the number that each has; see make.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "calls.h"
#include "make.h"

#define LIST_BYTES 32768u

/* -1 where the number is of no open file: the call then fails with EBADF. */
static int fd_of(const struct player *p, const struct call *c)
{
	return p->files[c->file];
}

result make_open(struct player *p, const struct call *c)
{
	int fd = openat(p->root, c->path[0], c->flags | O_CLOEXEC,
			(mode_t)c->mode);

	if (fd < 0)
		return -1;
	if (p->files[c->file] >= 0)
		close(p->files[c->file]);
	p->files[c->file] = fd;
	p->synced[c->file] = c->flags & O_DSYNC;
	return 0;
}

result make_close(struct player *p, const struct call *c)
{
	int fd = fd_of(p, c);

	p->files[c->file] = -1;
	return close(fd);
}

result make_read(struct player *p, const struct call *c)
{
	return read(fd_of(p, c), p->read, c->bytes);
}

result make_pread(struct player *p, const struct call *c)
{
	return pread(fd_of(p, c), p->read, c->bytes, c->number[0]);
}

result make_write(struct player *p, const struct call *c)
{
	return write(fd_of(p, c), payload_next(&p->payload, c->bytes),
		     c->bytes);
}

result make_pwrite(struct player *p, const struct call *c)
{
	return pwrite(fd_of(p, c), payload_next(&p->payload, c->bytes),
		      c->bytes, c->number[0]);
}

/* The parts of a vector, one after the other in memory. */
static int parts(const struct call *c, const char *data, struct iovec *vector)
{
	for (unsigned int i = 0; i < c->lengths; i++) {
		vector[i] = (struct iovec){(void *)data, c->length[i]};
		data += c->length[i];
	}
	return (int)c->lengths;
}

result make_readv(struct player *p, const struct call *c)
{
	struct iovec v[LENGTHS_MAX];

	return readv(fd_of(p, c), v, parts(c, p->read, v));
}

result make_preadv(struct player *p, const struct call *c)
{
	struct iovec v[LENGTHS_MAX];

	return preadv(fd_of(p, c), v, parts(c, p->read, v), c->number[0]);
}

result make_writev(struct player *p, const struct call *c)
{
	struct iovec v[LENGTHS_MAX];
	const char *data = payload_next(&p->payload, c->bytes);

	return writev(fd_of(p, c), v, parts(c, data, v));
}

result make_pwritev(struct player *p, const struct call *c)
{
	struct iovec v[LENGTHS_MAX];
	const char *data = payload_next(&p->payload, c->bytes);

	return pwritev(fd_of(p, c), v, parts(c, data, v), c->number[0]);
}

result make_lseek(struct player *p, const struct call *c)
{
	return lseek(fd_of(p, c), c->number[0], (int)c->number[1]);
}

result make_fsync(struct player *p, const struct call *c)
{
	return fsync(fd_of(p, c));
}

result make_fdatasync(struct player *p, const struct call *c)
{
	return fdatasync(fd_of(p, c));
}

result make_syncfs(struct player *p, const struct call *c)
{
	return syncfs(fd_of(p, c));
}

result make_sync(struct player *p, const struct call *c)
{
	(void)p;
	(void)c;
	sync();
	return 0;
}

result make_sync_range(struct player *p, const struct call *c)
{
	return sync_file_range(fd_of(p, c), c->number[0], c->number[1],
			       (unsigned int)c->number[2]);
}

result make_ftruncate(struct player *p, const struct call *c)
{
	return ftruncate(fd_of(p, c), c->number[0]);
}

result make_fallocate(struct player *p, const struct call *c)
{
	return fallocate(fd_of(p, c), (int)c->number[0], c->number[1],
			 c->number[2]);
}

result make_fstat(struct player *p, const struct call *c)
{
	struct stat stat;

	return fstat(fd_of(p, c), &stat);
}

result make_getdents(struct player *p, const struct call *c)
{
	char entries[LIST_BYTES];

	return syscall(SYS_getdents64, fd_of(p, c), entries, sizeof(entries)) <
			       0
		       ? -1
		       : 0;
}

result make_fchmod(struct player *p, const struct call *c)
{
	return fchmod(fd_of(p, c), (mode_t)c->mode);
}

result make_fchown(struct player *p, const struct call *c)
{
	return fchown(fd_of(p, c), (uid_t)c->number[0], (gid_t)c->number[1]);
}

result make_futimes(struct player *p, const struct call *c)
{
	return futimens(fd_of(p, c), NULL);
}

result make_fadvise(struct player *p, const struct call *c)
{
	errno = posix_fadvise(fd_of(p, c), c->number[0], c->number[1],
			      (int)c->number[2]);
	return errno ? -1 : 0;
}
