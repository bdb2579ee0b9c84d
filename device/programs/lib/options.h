/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program's command line, declared in one table: long options, each a flag or
 * with one value, and plain arguments. --help is built in.
 */
#ifndef LIB_OPTIONS_H
#define LIB_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

struct option_decl {
	const char *name;  /* without its dashes; NULL for a plain argument */
	const char *value; /* name of its value for the help; NULL for a flag */
	const char *help;
	/* Called in the order of the command line; -1 after a message. */
	int (*take)(void *context, const char *value);
};

/*
 * Walk the command line. Returns 0, or -1 after a message or after printing the
 * help; *@helped tells which. The help begins with @synopsis, which follows the
 * program's name, and @about.
 */
int options_walk(const struct option_decl *table, size_t count, char **argv,
		 void *context, const char *synopsis, const char *about,
		 bool *helped);

#endif
