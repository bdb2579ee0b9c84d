/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The system calls of a command, each checked, timed alone and counted.
 *
 * A call that fails is not counted: what is told was done. Costs two clock
 * readings and 8 bytes of memory a call.
 */
#ifndef FILETREE_CALLS_H
#define FILETREE_CALLS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "latency.h"

struct json;

enum call {
	CALL_MKDIR,
	CALL_CREATE, /* open(2) that makes the file */
	CALL_WRITE,
	CALL_FSYNC,
	CALL_LSTAT,
	CALL_OPEN,    /* open(2) of what is there, folders too */
	CALL_READDIR, /* getdents64(2): several entries each */
	CALL_READ,    /* the one that finds the end too */
	CALL_CLOSE,
	CALL_UNLINK,
	CALL_RMDIR,
	CALLS,
};

struct calls {
	struct latency each[CALLS];
	uint64_t read, written; /* bytes */
	int error;		/* errno of the last call that failed */
	int awaited; /* errno of a failure that needs no message; 0: all do */
};

void calls_open(struct calls *calls);
void calls_close(struct calls *calls);

/* What each returns, or -1 after a message. */
int call_mkdir(struct calls *calls, const char *path);
int call_create(struct calls *calls, const char *path);
int call_open(struct calls *calls, const char *path, int flags);
/* @path below the folder @root, from which no link leads out. */
int call_open_within(struct calls *calls, int root, const char *path);
int call_lstat(struct calls *calls, const char *path, struct stat *st);
long call_readdir(struct calls *calls, int fd, void *room, size_t size,
		  const char *path);
long call_read(struct calls *calls, int fd, void *data, size_t size,
	       const char *path);
/* All of @size, or -1; what came before a failure is counted. */
int call_write(struct calls *calls, int fd, const void *data, size_t size,
	       const char *path);
int call_fsync(struct calls *calls, int fd, const char *path);
int call_close(struct calls *calls, int fd, const char *path);
int call_unlink(struct calls *calls, const char *path);
int call_rmdir(struct calls *calls, const char *path);

/* The members operations, bytes and latency_ns of @json. */
int calls_json(struct json *json, struct calls *calls);

#endif
