// SPDX-License-Identifier: GPL-2.0-or-later
/* The load's operations, as system calls; each call is checked. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "checked.h"
#include "cuts/calls.h"
#include "cuts/files.h"
#include "diag.h"

#define HELD_MAX 64

/* Files that the load holds open, by their inode. */
static struct {
	int inode, fd;
} held[HELD_MAX];
static int holds;

static int held_fd(int inode)
{
	int i;

	for (i = 0; i < holds; i++)
		if (held[i].inode == inode)
			return held[i].fd;
	return -1;
}

static int hold(int inode, const char *path, bool nameless)
{
	int fd;

	if (holds == HELD_MAX)
		return fail("%s: more than %d files are held open", path,
			    HELD_MAX);
	fd = nameless ? cuts_open_nameless(path)
		      : checked_open(path, O_RDWR, 0);
	if (fd < 0)
		return -1;
	held[holds].inode = inode;
	held[holds++].fd = fd;
	return 0;
}

static int let_go(int inode, const char *path)
{
	int i;

	for (i = 0; i < holds; i++) {
		int fd = held[i].fd;

		if (held[i].inode != inode)
			continue;
		held[i] = held[--holds];
		return checked_close(fd, path);
	}
	return fail("%s: it is not open", path);
}

void cuts_files_play_end(void)
{
	cuts_beside_end();
	while (holds)
		close(held[--holds].fd);
}

/* Read-only, which must store all, and writable again; synchronous if it was.
 */
static int readonly(void)
{
	unsigned long flags = MS_REMOUNT;
	struct statvfs had;

	if (statvfs(MOUNTPOINT, &had))
		return fail_errno("statvfs", MOUNTPOINT);
	if (had.f_flag & ST_SYNCHRONOUS)
		flags |= MS_SYNCHRONOUS;
	if (mount(NULL, MOUNTPOINT, NULL, flags | MS_RDONLY, NULL) ||
	    mount(NULL, MOUNTPOINT, NULL, flags, NULL))
		return fail_errno("remount", MOUNTPOINT);
	return 0;
}

static sigjmp_buf before_write;

/* A map has no room, or no file: SIGBUS. */
static void no_room(int signal)
{
	(void)signal;
	siglongjmp(before_write, 1);
}

static int write_mapped(int fd, const struct op *op, const uint8_t *data,
			const char *path)
{
	uint64_t end = op->at + op->bytes;
	volatile int error = 0;
	uint8_t *map =
		mmap(NULL, end, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		return fail_errno("map", path);
	signal(SIGBUS, no_room);
	if (sigsetjmp(before_write, 1)) {
		error = EFAULT;
	} else {
		memcpy(map + op->at, data, op->bytes);
	}
	signal(SIGBUS, SIG_DFL);
	/* else it would keep the file system mounted */
	if (munmap(map, end) && munmap(map, end))
		return fail_errno("unmap", path);
	errno = error;
	return error ? fail_errno("write through a map of", path) : 0;
}

static int write_bytes(int fd, const struct op *op, const uint8_t *data,
		       const char *path)
{
	ssize_t done = pwrite(fd, data, op->bytes, (off_t)op->at);

	if (done == (ssize_t)op->bytes)
		return 0;
	if (done < 0 || lseek(fd, (off_t)op->at + done, SEEK_SET) < 0)
		return fail_errno("write", path);
	/* a short write hides its reason, the next has it */
	return checked_write(fd, data + done, op->bytes - (size_t)done, path);
}

static int write_op(const struct load *load, int number, const char *path)
{
	const struct op *op = &load->op[number];
	int holding = op->what == OP_SWRITE ? -1 : held_fd(op->inode);
	int flags = op->what == OP_SWRITE ? O_WRONLY | O_SYNC : O_RDWR;
	int fd = holding < 0 ? checked_open(path, flags, 0) : holding;
	const uint8_t *data = cuts_load_bytes(load, number);
	int error = 0;

	if (fd < 0)
		return -1;
	if (op->what == OP_MWRITE)
		error = write_mapped(fd, op, data, path);
	else
		error = write_bytes(fd, op, data, path);
	if (holding >= 0)
		return error;
	return checked_close(fd, path) || error ? -1 : 0;
}

/* The file of an operation: a new descriptor, or that which is held where it
 * has no name any more. */
static int open_op(const struct load *load, const struct op *op,
		   const char *path, int flags, bool *holding)
{
	int fd = held_fd(op->inode);

	*holding = fd >= 0 && op->inode != NONE &&
		   load->inode[op->inode].gone < op - load->op;
	return *holding ? fd : checked_open(path, flags, 0);
}

static int sync_op(const struct load *load, const struct op *op,
		   const char *path, int flags)
{
	bool holding;
	int fd = open_op(load, op, path, flags, &holding);
	int error;

	if (fd < 0)
		return -1;
	if (op->what == OP_FDATASYNC)
		error = fdatasync(fd) ? fail_errno("fdatasync", path) : 0;
	else
		error = checked_fsync(fd, path);
	if (holding)
		return error;
	return checked_close(fd, path) || error ? -1 : 0;
}

/* Metadata, or room: of a file held open where it has no name. */
static int set_op(const struct load *load, int number, const char *path)
{
	const struct op *op = &load->op[number];
	bool folder = load->inode[op->inode].sort == A_FOLDER;
	bool holding;
	int fd = open_op(load, op, path,
			 folder ? O_RDONLY | O_DIRECTORY : O_RDWR, &holding);
	int error;

	if (fd < 0)
		return -1;
	error = cuts_play_set(load, number, fd, path);
	if (holding)
		return error;
	return checked_close(fd, path) || error ? -1 : 0;
}

static int create(const char *path)
{
	int fd = checked_open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);

	return fd < 0 ? -1 : checked_close(fd, path);
}

int cuts_files_play(const struct load *load, int number)
{
	const struct op *op = &load->op[number];
	const char *name = op->name == NONE ? "" : load->name[op->name].path;
	char path[PATH_MAX], to[PATH_MAX];

	snprintf(path, sizeof(path), MOUNTPOINT "/%s", name);
	snprintf(to, sizeof(to), MOUNTPOINT "/%s",
		 op->to == NONE ? "" : load->name[op->to].path);
	switch (op->what) {
	case OP_CREATE:
		return create(path);
	case OP_MKDIR:
		return checked_mkdir(path);
	case OP_WRITE:
	case OP_SWRITE:
	case OP_MWRITE:
		return write_op(load, number, path);
	case OP_TRUNCATE:
		return truncate(path, (off_t)op->bytes)
			       ? fail_errno("truncate", path)
			       : 0;
	case OP_RENAME:
		return rename(path, to) ? fail_errno("rename", path) : 0;
	case OP_LINK:
		return link(path, to) ? fail_errno("link", path) : 0;
	case OP_UNLINK:
		return checked_unlink(path);
	case OP_RMDIR:
		return checked_rmdir(path);
	case OP_FSYNC:
	case OP_FDATASYNC:
		return sync_op(load, op, path, O_RDWR);
	case OP_FSYNCDIR:
		return sync_op(load, op, path, O_RDONLY | O_DIRECTORY);
	case OP_SYNC:
		return checked_syncfs(MOUNTPOINT);
	case OP_READONLY:
		return readonly();
	case OP_DAMAGE:
		return 0;
	case OP_OPEN:
	case OP_TMPFILE:
		return hold(op->inode, path, op->what == OP_TMPFILE);
	case OP_LINKTMP:
		return cuts_play_linkat(held_fd(op->inode), path);
	case OP_BEGINSYNC:
	case OP_ENDSYNC:
		return cuts_play_beside(op);
	case OP_WAKEGC:
		return cuts_play_wakegc(op);
	case OP_CLOSE:
		return let_go(op->inode, path);
	case OP_FALLOCATE:
	case OP_SETXATTR:
	case OP_REMOVEXATTR:
	case OP_CHMOD:
	case OP_CHOWN:
	case OP_UTIMENS:
		return set_op(load, number, path);
	default:
		return cuts_play_name(load, number, path, to);
	}
}
