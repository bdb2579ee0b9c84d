/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The language of a recorded load: what must be there before, then the calls,
 * one a line. docs/replay.md explains it; nandlab writes it
 * (src/nandlab/catalog/from_strace).
 *
 * The text stays in the file, mapped: a line is read when its turn comes, so a
 * load of 100,000 calls takes no memory but the file's own.
 */
#ifndef REPLAY_SCRIPT_H
#define REPLAY_SCRIPT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define LENGTHS_MAX 64		  /* parts of a readv or a writev */
#define FILES_MAX   65536	  /* open files at a time */
#define MOVED_MAX   (64ull << 20) /* bytes that one call may ask for */

/* What a call counts as in the result. */
enum kind {
	KIND_OPEN,
	KIND_CLOSE,
	KIND_READ,
	KIND_WRITE,
	KIND_WRITE_SYNC, /* on a file that was opened O_SYNC or O_DSYNC */
	KIND_SEEK,
	KIND_FSYNC, /* fdatasync too */
	KIND_SYNC,  /* syncfs too */
	KIND_FLUSH, /* sync_file_range: begins to write, waits for nothing */
	KIND_RENAME,
	KIND_LINK, /* symlink too */
	KIND_UNLINK,
	KIND_MKDIR,
	KIND_RMDIR,
	KIND_RESIZE, /* truncate, ftruncate, fallocate */
	KIND_STAT,   /* access, readlink and statfs too */
	KIND_LIST,   /* getdents */
	KIND_CHANGE, /* owner, mode, times */
	KIND_ADVISE,
	KIND_FAILED, /* what failed in the trace, such as a look-up of no file
		      */
	KINDS,
};

extern const char *const kind_names[KINDS];

struct call;
struct player;

/*
 * A word that a line may begin with. Its arguments are a letter each: d an open
 * file, D one that the call opens, p a path, t any text, n a number, f flags of
 * open, m a mode (octal; by choice, 0 if not given), l lengths between commas,
 * w a whence, a an advice.
 */
struct verb {
	const char *name;
	const char *args;
	enum kind kind;
	/* As the system call: -1 and errno, or what it returns. */
	long long (*make)(struct player *player, const struct call *call);
};

struct call {
	const struct verb *verb;
	unsigned long line;
	uint64_t think_us; /* from the end of the call before */
	int file, flags, mode;
	long long number[3];
	unsigned int paths, numbers, lengths;
	uint64_t length[LENGTHS_MAX];
	uint64_t bytes;	    /* that it asks for, if it moves any */
	bool told;	    /* the line says what it returned */
	long long returned; /* what, if that is no error */
	int error;	    /* errno that the trace has; 0: none */
	char path[2][PATH_MAX];
};

struct script {
	const char *path;
	char *text;
	size_t size, at;
	unsigned long line;
};

int script_open(struct script *script, const char *path);
void script_close(struct script *script);
void script_rewind(struct script *script);

/*
 * The next line that says anything, by a table of verbs ended by a NULL name:
 * 1, 0 at the end, -1 after a message with its place.
 */
int script_next(struct script *script, const struct verb *verbs,
		struct call *call);

/* The name of an errno that the language knows, "another error" otherwise. */
const char *error_name(int error);

#endif
