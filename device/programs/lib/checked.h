/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System calls that say what failed, on which file and why.
 *
 * Each returns 0 (or what the call returns), or -1 after printing its message
 * on stderr. A short read or write is a failure: a workload that quietly did
 * less than it was asked has measured something else.
 */
#ifndef LIB_CHECKED_H
#define LIB_CHECKED_H

#include <stddef.h>
#include <sys/types.h>

int checked_open(const char *path, int flags, mode_t mode);
int checked_close(int fd, const char *path);
int checked_write(int fd, const void *data, size_t size, const char *path);
int checked_read(int fd, void *data, size_t size, const char *path);
int checked_fsync(int fd, const char *path);
int checked_unlink(const char *path);
int checked_mkdir(const char *path);
int checked_rmdir(const char *path);

/* Sync the file system that the directory @path is on. */
int checked_syncfs(const char *path);

/*
 * The whole of a small text file, ended by a NUL, for the caller to free.
 * NULL when it cannot be read: no message, errno says why.
 */
char *slurp(const char *path);

#endif
