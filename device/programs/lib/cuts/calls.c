// SPDX-License-Identifier: GPL-2.0-or-later
/* Names by renameat2, symlink and O_TMPFILE; metadata; the kernel's caches. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "checked.h"
#include "cuts/calls.h"
#include "diag.h"
#include "pagecache.h"

static int not_kept(const char *verb, const char *path)
{
	errno = EOPNOTSUPP;
	return fail_errno(verb, path);
}

static int set_mode(const struct op *op, int fd, const char *path)
{
	struct stat st;

	if (fchmod(fd, (mode_t)op->bytes) || fstat(fd, &st))
		return fail_errno("chmod", path);
	return (st.st_mode & 07777) == op->bytes ? 0 : not_kept("chmod", path);
}

static int set_owner(const struct op *op, int fd, const char *path)
{
	struct stat st;

	if (fchown(fd, (uid_t)op->at, (gid_t)op->bytes) || fstat(fd, &st))
		return fail_errno("chown", path);
	return st.st_uid == op->at && st.st_gid == op->bytes
		       ? 0
		       : not_kept("chown", path);
}

static int set_time(const struct op *op, int fd, const char *path)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
				    {.tv_sec = (time_t)op->bytes}};
	struct stat st;

	if (futimens(fd, times) || fstat(fd, &st))
		return fail_errno("utimens", path);
	return st.st_mtime == (time_t)op->bytes ? 0 : not_kept("utimens", path);
}

int cuts_play_set(const struct load *load, int number, int fd, const char *path)
{
	const struct op *op = &load->op[number];
	char name[16];

	switch (op->what) {
	case OP_CHMOD:
		return set_mode(op, fd, path);
	case OP_CHOWN:
		return set_owner(op, fd, path);
	case OP_UTIMENS:
		return set_time(op, fd, path);
	case OP_FALLOCATE:
		return fallocate(fd, 0, (off_t)op->at, (off_t)op->bytes)
			       ? fail_errno("fallocate", path)
			       : 0;
	case OP_SETXATTR:
		snprintf(name, sizeof(name), "user.%d", (int)op->at);
		return fsetxattr(fd, name, cuts_load_bytes(load, number),
				 op->bytes, 0)
			       ? fail_errno("setxattr", path)
			       : 0;
	default:
		snprintf(name, sizeof(name), "user.%d", (int)op->bytes);
		return fremovexattr(fd, name) ? fail_errno("removexattr", path)
					      : 0;
	}
}

static int symlink_to(const struct load *load, int number, const char *path)
{
	const struct op *op = &load->op[number];
	char target[VALUE_BYTES];

	snprintf(target, sizeof(target), "%.*s", (int)op->bytes,
		 (const char *)cuts_load_bytes(load, number));
	return symlink(target, path) ? fail_errno("symlink", path) : 0;
}

int cuts_open_nameless(const char *path)
{
	char folder[PATH_MAX];

	snprintf(folder, sizeof(folder), "%.*s",
		 (int)(strrchr(path, '/') - path), path);
	return checked_open(folder, O_TMPFILE | O_RDWR, 0644);
}

int cuts_play_linkat(int fd, const char *path)
{
	char open_file[32];

	snprintf(open_file, sizeof(open_file), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, open_file, AT_FDCWD, path, AT_SYMLINK_FOLLOW)
		       ? fail_errno("link", path)
		       : 0;
}

/* A file without a name is written, and then gets one. */
static int link_nameless(const struct load *load, int number, const char *path)
{
	const struct op *op = &load->op[number];
	int fd = cuts_open_nameless(path), error;

	if (fd < 0)
		return -1;
	error = checked_write(fd, cuts_load_bytes(load, number), op->bytes,
			      path) ||
		cuts_play_linkat(fd, path);
	return checked_close(fd, path) || error ? -1 : 0;
}

static int drop_caches(void)
{
	int fd = checked_open(PAGECACHE_CONTROL, O_WRONLY, 0);
	int error;

	if (fd < 0)
		return -1;
	error = checked_write(fd, "3", 1, PAGECACHE_CONTROL);
	return checked_close(fd, PAGECACHE_CONTROL) || error ? -1 : 0;
}

static int rename_by(const char *path, const char *to, unsigned int flags)
{
	return renameat2(AT_FDCWD, path, AT_FDCWD, to, flags)
		       ? fail_errno("rename", path)
		       : 0;
}

int cuts_play_name(const struct load *load, int number, const char *path,
		   const char *to)
{
	struct statvfs room;

	switch (load->op[number].what) {
	case OP_NOREPLACE:
		return rename_by(path, to, RENAME_NOREPLACE);
	case OP_EXCHANGE:
		return rename_by(path, to, RENAME_EXCHANGE);
	case OP_WHITEOUT:
		return rename_by(path, to, RENAME_WHITEOUT);
	case OP_SYMLINK:
		return symlink_to(load, number, path);
	case OP_TMPLINK:
		return link_nameless(load, number, path);
	case OP_DROPCACHES:
		return drop_caches();
	case OP_STATFS:
		return statvfs(MOUNTPOINT, &room)
			       ? fail_errno("statvfs", MOUNTPOINT)
			       : 0;
	default:
		return fail("%s: operation %d cannot be played", load->title,
			    number);
	}
}
