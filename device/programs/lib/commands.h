/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program that does one of several things, as its first plain argument says:
 * its commands, declared in one table, and the options that each needs and
 * takes. Options are bits; a program has at most 32 that are of some commands
 * only.
 */
#ifndef LIB_COMMANDS_H
#define LIB_COMMANDS_H

#include <stddef.h>

struct command_decl {
	const char *name;
	const char *place;  /* what its first argument is called */
	const char *second; /* what its second is called; NULL: it has none */
	unsigned int needs, takes;
};

/* What a command line gives. */
struct command_line {
	const char *name; /* NULL: no command */
	size_t words;	  /* plain arguments, the command's name among them */
	const char *last; /* the last of them */
	unsigned int given;
};

/* The position of the command in the table, or -1 after a message. */
int commands_find(const struct command_decl *table, size_t count,
		  const char *name);

/* Whether a command line is one of the command: 0, or -1 after a message.
 * option_names has the name of each bit. */
int commands_check(const struct command_decl *command,
		   const struct command_line *line,
		   const char *const *option_names, size_t options);

#endif
