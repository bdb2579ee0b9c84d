/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the parts of fsops; main.c says what it does. */
#ifndef FSOPS_H
#define FSOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

#define SLOTS	 4 /* open files at a time, and as many directories */
#define IO_PIECE 65536

/* The board's clock starts here, in 2020: an older time was set by an
 * operation. */
#define CLOCK_START 1577836800

/* Only extended attributes with this prefix are set, and printed by "check". */
#define ATTRIBUTES "trusted."

/* The arguments of an operation, in the order of its signature. */
struct args {
	unsigned int slot;
	const char *path[2];
	const char *word;
	uint64_t number[3];
};

struct operation {
	const char *name;
	/* s: slot, p: path, w: word, n: number in decimal, o: in octal */
	const char *signature;
	void (*run)(const struct args *args);
	/* Undoes it, for the reference; NULL: it cannot be undone. */
	int (*undo)(const char *path);
};

/* A list of names, each allocated by itself. */
struct names {
	char **at;
	size_t count;
	size_t room;
};

void names_add(struct names *names, const char *name);
size_t names_count(const struct names *names, const char *name);
void names_sort(struct names *names);
void names_clear(struct names *names);

/* Print one line: 0, or the name of errno if @result is negative. */
void say(int result);
/*
 * Print one line about a file: type, mode, links, size, times, and @more. The
 * times are mtime, of a file: "at" the seconds that an operation set, or "now".
 * With a clock of operations they are those of all that has a name: "m" and the
 * operation that changed its content, "c" and the one that changed it at all.
 */
void say_stat(const struct stat *st, const char *more);

bool is_attribute(const char *name);
uint64_t hash_more(uint64_t hash, const void *data, size_t size);
#define HASH_START 0xcbf29ce484222325u

/* Print a line for each file below the working directory. */
void walk(const struct args *args);

/* Sync, cut power, and save the chip; see cut.c. */
void cut(const struct args *args);

/* opclock.c: the number of the next operation; -1: no clock of operations. Set
 * the clock for it; 0, or -1 after a message. Count it. Which operation a time
 * is of. */
void opclock_begin(int64_t first);
bool opclock_runs(void);
int opclock_set(void);
void opclock_go_on(void);
int64_t opclock_operation(time_t seconds);

void dir_open(const struct args *args);
void dir_read(const struct args *args);
void dir_end(const struct args *args);
/* Note a name that an operation may create or remove. */
void dir_touched(const char *path);
void dir_close_all(void);

extern const struct operation operations[];
extern const size_t operations_count;
void files_close_all(void);
/* Whether the last operation succeeded. */
extern bool succeeded;

#endif
