/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of fsops share; what it does is told in main.c. */
#ifndef FSOPS_H
#define FSOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#define SLOTS	 4 /* files, and as many directories, held open at a time */
#define IO_PIECE 65536

/* Extended attributes of this kind are set and told, and no others. */
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
	/* What takes it back, for the reference; NULL if nothing does. */
	int (*undo)(const char *path);
};

/* A list of names, each in memory of its own. */
struct names {
	char **at;
	size_t count;
	size_t room;
};

void names_add(struct names *names, const char *name);
size_t names_count(const struct names *names, const char *name);
void names_sort(struct names *names);
void names_clear(struct names *names);

/* One line: 0, or the name of errno if @result is negative. */
void say(int result);
/* One line about a file: type, mode, links, size, time of change. */
void say_stat(const struct stat *st, const char *more);

bool is_attribute(const char *name);
uint64_t hash_more(uint64_t hash, const void *data, size_t size);
#define HASH_START 0xcbf29ce484222325u

/* Every file below the working directory, a line each. */
void walk(const struct args *args);

/* A sync, and the power goes. */
void cut(const struct args *args);

void dir_open(const struct args *args);
void dir_read(const struct args *args);
void dir_end(const struct args *args);
/* A name that an operation may have made or taken away. */
void dir_touched(const char *path);
void dir_close_all(void);

extern const struct operation operations[];
extern const size_t operations_count;
void files_close_all(void);
/* Whether the last operation did what it was asked to. */
extern bool succeeded;

#endif
