// SPDX-License-Identifier: GPL-2.0-or-later
/* The calls of a recorded load; see calls.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "calls.h"
#include "checked.h"
#include "diag.h"

#define CHUNK	   65536u
#define LIST_BYTES 32768u

typedef long long result;

const char *const kind_names[KINDS] = {
	[KIND_OPEN] = "open",
	[KIND_CLOSE] = "close",
	[KIND_READ] = "read",
	[KIND_WRITE] = "write",
	[KIND_WRITE_SYNC] = "write_sync",
	[KIND_SEEK] = "seek",
	[KIND_FSYNC] = "fsync",
	[KIND_SYNC] = "sync",
	[KIND_FLUSH] = "flush",
	[KIND_RENAME] = "rename",
	[KIND_LINK] = "link",
	[KIND_UNLINK] = "unlink",
	[KIND_MKDIR] = "mkdir",
	[KIND_RMDIR] = "rmdir",
	[KIND_RESIZE] = "resize",
	[KIND_STAT] = "stat",
	[KIND_LIST] = "list",
	[KIND_CHANGE] = "change",
	[KIND_ADVISE] = "advise",
	[KIND_FAILED] = "failed",
};

/* -1 where the number is of no open file: the call then fails with EBADF. */
static int fd_of(const struct player *p, const struct call *c)
{
	return p->files[c->file];
}

static result make_open(struct player *p, const struct call *c)
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

static result make_close(struct player *p, const struct call *c)
{
	int fd = fd_of(p, c);

	p->files[c->file] = -1;
	return close(fd);
}

static result make_read(struct player *p, const struct call *c)
{
	return read(fd_of(p, c), p->read, c->bytes);
}

static result make_pread(struct player *p, const struct call *c)
{
	return pread(fd_of(p, c), p->read, c->bytes, c->number[0]);
}

static result make_write(struct player *p, const struct call *c)
{
	return write(fd_of(p, c), payload_next(&p->payload, c->bytes),
		     c->bytes);
}

static result make_pwrite(struct player *p, const struct call *c)
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

static result make_readv(struct player *p, const struct call *c)
{
	struct iovec v[LENGTHS_MAX];

	return readv(fd_of(p, c), v, parts(c, p->read, v));
}

static result make_preadv(struct player *p, const struct call *c)
{
	struct iovec v[LENGTHS_MAX];

	return preadv(fd_of(p, c), v, parts(c, p->read, v), c->number[0]);
}

static result make_writev(struct player *p, const struct call *c)
{
	struct iovec v[LENGTHS_MAX];
	const char *data = payload_next(&p->payload, c->bytes);

	return writev(fd_of(p, c), v, parts(c, data, v));
}

static result make_pwritev(struct player *p, const struct call *c)
{
	struct iovec v[LENGTHS_MAX];
	const char *data = payload_next(&p->payload, c->bytes);

	return pwritev(fd_of(p, c), v, parts(c, data, v), c->number[0]);
}

static result make_lseek(struct player *p, const struct call *c)
{
	return lseek(fd_of(p, c), c->number[0], (int)c->number[1]);
}

static result make_fsync(struct player *p, const struct call *c)
{
	return fsync(fd_of(p, c));
}

static result make_fdatasync(struct player *p, const struct call *c)
{
	return fdatasync(fd_of(p, c));
}

static result make_syncfs(struct player *p, const struct call *c)
{
	return syncfs(fd_of(p, c));
}

static result make_sync(struct player *p, const struct call *c)
{
	(void)p;
	(void)c;
	sync();
	return 0;
}

static result make_sync_range(struct player *p, const struct call *c)
{
	return sync_file_range(fd_of(p, c), c->number[0], c->number[1],
			       (unsigned int)c->number[2]);
}

static result make_rename(struct player *p, const struct call *c)
{
	return renameat(p->root, c->path[0], p->root, c->path[1]);
}

static result make_rename_new(struct player *p, const struct call *c)
{
	return renameat2(p->root, c->path[0], p->root, c->path[1],
			 RENAME_NOREPLACE);
}

static result make_exchange(struct player *p, const struct call *c)
{
	return renameat2(p->root, c->path[0], p->root, c->path[1],
			 RENAME_EXCHANGE);
}

static result make_link(struct player *p, const struct call *c)
{
	return linkat(p->root, c->path[0], p->root, c->path[1], 0);
}

static result make_symlink(struct player *p, const struct call *c)
{
	return symlinkat(c->path[0], p->root, c->path[1]);
}

static result make_unlink(struct player *p, const struct call *c)
{
	return unlinkat(p->root, c->path[0], 0);
}

static result make_rmdir(struct player *p, const struct call *c)
{
	return unlinkat(p->root, c->path[0], AT_REMOVEDIR);
}

static result make_mkdir(struct player *p, const struct call *c)
{
	return mkdirat(p->root, c->path[0], (mode_t)c->mode);
}

/* truncate(2) knows no folder to begin from. */
static result make_truncate(struct player *p, const struct call *c)
{
	char path[PATH_MAX + 32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", p->root,
		 c->path[0]);
	return truncate(path, c->number[0]);
}

static result make_ftruncate(struct player *p, const struct call *c)
{
	return ftruncate(fd_of(p, c), c->number[0]);
}

static result make_fallocate(struct player *p, const struct call *c)
{
	return fallocate(fd_of(p, c), (int)c->number[0], c->number[1],
			 c->number[2]);
}

static result make_stat(struct player *p, const struct call *c)
{
	struct stat stat;

	return fstatat(p->root, c->path[0], &stat, 0);
}

static result make_lstat(struct player *p, const struct call *c)
{
	struct stat stat;

	return fstatat(p->root, c->path[0], &stat, AT_SYMLINK_NOFOLLOW);
}

static result make_fstat(struct player *p, const struct call *c)
{
	struct stat stat;

	return fstat(fd_of(p, c), &stat);
}

static result make_access(struct player *p, const struct call *c)
{
	return faccessat(p->root, c->path[0], F_OK, 0);
}

static result make_readlink(struct player *p, const struct call *c)
{
	char target[PATH_MAX];

	return readlinkat(p->root, c->path[0], target, sizeof(target)) < 0 ? -1
									   : 0;
}

static result make_statfs(struct player *p, const struct call *c)
{
	struct statfs stat;

	(void)c;
	return fstatfs(p->root, &stat);
}

static result make_getdents(struct player *p, const struct call *c)
{
	char entries[LIST_BYTES];

	return syscall(SYS_getdents64, fd_of(p, c), entries, sizeof(entries)) <
			       0
		       ? -1
		       : 0;
}

static result make_chmod(struct player *p, const struct call *c)
{
	return fchmodat(p->root, c->path[0], (mode_t)c->mode, 0);
}

static result make_fchmod(struct player *p, const struct call *c)
{
	return fchmod(fd_of(p, c), (mode_t)c->mode);
}

static result make_chown(struct player *p, const struct call *c)
{
	return fchownat(p->root, c->path[0], (uid_t)c->number[0],
			(gid_t)c->number[1], 0);
}

static result make_lchown(struct player *p, const struct call *c)
{
	return fchownat(p->root, c->path[0], (uid_t)c->number[0],
			(gid_t)c->number[1], AT_SYMLINK_NOFOLLOW);
}

static result make_fchown(struct player *p, const struct call *c)
{
	return fchown(fd_of(p, c), (uid_t)c->number[0], (gid_t)c->number[1]);
}

static result make_utimes(struct player *p, const struct call *c)
{
	return utimensat(p->root, c->path[0], NULL, 0);
}

static result make_lutimes(struct player *p, const struct call *c)
{
	return utimensat(p->root, c->path[0], NULL, AT_SYMLINK_NOFOLLOW);
}

static result make_futimes(struct player *p, const struct call *c)
{
	return futimens(fd_of(p, c), NULL);
}

static result make_fadvise(struct player *p, const struct call *c)
{
	errno = posix_fadvise(fd_of(p, c), c->number[0], c->number[1],
			      (int)c->number[2]);
	return errno ? -1 : 0;
}

const struct verb calls[] = {
	{"open", "Dpfm", KIND_OPEN, make_open},
	{"close", "d", KIND_CLOSE, make_close},
	{"read", "dl", KIND_READ, make_read},
	{"pread", "dln", KIND_READ, make_pread},
	{"readv", "dl", KIND_READ, make_readv},
	{"preadv", "dln", KIND_READ, make_preadv},
	{"write", "dl", KIND_WRITE, make_write},
	{"pwrite", "dln", KIND_WRITE, make_pwrite},
	{"writev", "dl", KIND_WRITE, make_writev},
	{"pwritev", "dln", KIND_WRITE, make_pwritev},
	{"lseek", "dnw", KIND_SEEK, make_lseek},
	{"fsync", "d", KIND_FSYNC, make_fsync},
	{"fdatasync", "d", KIND_FSYNC, make_fdatasync},
	{"syncfs", "d", KIND_SYNC, make_syncfs},
	{"sync", "", KIND_SYNC, make_sync},
	{"sync_range", "dnnn", KIND_FLUSH, make_sync_range},
	{"rename", "pp", KIND_RENAME, make_rename},
	{"rename_new", "pp", KIND_RENAME, make_rename_new},
	{"exchange", "pp", KIND_RENAME, make_exchange},
	{"link", "pp", KIND_LINK, make_link},
	{"symlink", "tp", KIND_LINK, make_symlink},
	{"unlink", "p", KIND_UNLINK, make_unlink},
	{"rmdir", "p", KIND_RMDIR, make_rmdir},
	{"mkdir", "pm", KIND_MKDIR, make_mkdir},
	{"truncate", "pn", KIND_RESIZE, make_truncate},
	{"ftruncate", "dn", KIND_RESIZE, make_ftruncate},
	{"fallocate", "dnnn", KIND_RESIZE, make_fallocate},
	{"stat", "p", KIND_STAT, make_stat},
	{"lstat", "p", KIND_STAT, make_lstat},
	{"fstat", "d", KIND_STAT, make_fstat},
	{"access", "p", KIND_STAT, make_access},
	{"readlink", "p", KIND_STAT, make_readlink},
	{"statfs", "", KIND_STAT, make_statfs},
	{"getdents", "d", KIND_LIST, make_getdents},
	{"chmod", "pm", KIND_CHANGE, make_chmod},
	{"fchmod", "dm", KIND_CHANGE, make_fchmod},
	{"chown", "pnn", KIND_CHANGE, make_chown},
	{"lchown", "pnn", KIND_CHANGE, make_lchown},
	{"fchown", "dnn", KIND_CHANGE, make_fchown},
	{"utimes", "p", KIND_CHANGE, make_utimes},
	{"lutimes", "p", KIND_CHANGE, make_lutimes},
	{"futimes", "d", KIND_CHANGE, make_futimes},
	{"fadvise", "dnna", KIND_ADVISE, make_fadvise},
	{NULL, NULL, KIND_OPEN, NULL},
};

/* A file of so many bytes of the payload. */
static result make_file(struct player *p, const struct call *c)
{
	long long left = c->number[0];
	int fd = openat(p->root, c->path[0], O_WRONLY | O_CREAT | O_EXCL, 0644);

	if (fd < 0)
		return -1;
	payload_align(&p->payload);
	while (left > 0) {
		size_t size = left < CHUNK ? (size_t)left : CHUNK;
		const void *data = payload_next(&p->payload, size);

		if (checked_write(fd, data, size, c->path[0])) {
			close(fd);
			return -1;
		}
		left -= (long long)size;
	}
	return close(fd);
}

const struct verb befores[] = {
	{"dir", "pm", KIND_MKDIR, make_mkdir},
	{"file", "pn", KIND_WRITE, make_file},
	{"symlink", "tp", KIND_LINK, make_symlink},
	{"opened", "Dpf", KIND_OPEN, make_open},
	{CALLS_BEGIN, "", KINDS, NULL},
	{NULL, NULL, KIND_OPEN, NULL},
};

int player_open(struct player *player, const char *folder, uint64_t largest,
		enum payload_kind kind, uint64_t seed, double compressibility)
{
	umask(0);
	player->root = checked_open(folder, O_RDONLY | O_DIRECTORY, 0);
	if (player->root < 0)
		return -1;
	player->files = allocate(FILES_MAX, sizeof(*player->files), "files");
	player->synced = allocate(FILES_MAX, sizeof(*player->synced), "files");
	for (int i = 0; i < FILES_MAX; i++)
		player->files[i] = -1;
	if (largest < CHUNK)
		largest = CHUNK;
	player->read = allocate(largest, 1, "what is read");
	payload_open(&player->payload, kind, seed, compressibility, largest);
	return 0;
}

void player_close(struct player *player)
{
	for (int i = 0; player->files && i < FILES_MAX; i++)
		if (player->files[i] >= 0)
			close(player->files[i]);
	if (player->root >= 0)
		close(player->root);
	free(player->files);
	free(player->synced);
	free(player->read);
	payload_close(&player->payload);
}

enum kind call_kind(const struct player *player, const struct call *call)
{
	if (call->error)
		return KIND_FAILED;
	if (call->verb->kind == KIND_WRITE && player->synced[call->file])
		return KIND_WRITE_SYNC;
	return call->verb->kind;
}
