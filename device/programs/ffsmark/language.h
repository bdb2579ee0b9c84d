/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command language: Postmark's, with more settings. A line is a command;
 * blank lines and those that start with # are ignored.
 */
#ifndef FFSMARK_LANGUAGE_H
#define FFSMARK_LANGUAGE_H

#include <stdbool.h>
#include <stdio.h>

#include "config.h"

struct session {
	struct config config;
	bool json; /* results go to stdout as JSON, reports to stderr */
	const char *drop_control; /* file that drops the page cache */
	FILE *people;		  /* where reports go */
	int status;		  /* exit status once something went wrong */
	bool ran;		  /* a run was made */
	bool quit;		  /* the command was given */
	int depth;		  /* of files loading files */
};

/*
 * Act on one line, which came from line @number of @source (0: no line numbers
 * there). Returns -1 after a message when the session must end, with its
 * status set.
 */
int language_line(struct session *session, const char *line, const char *source,
		  unsigned long number);

/* Act on every line of a file ("-": stdin) until "quit". */
int language_file(struct session *session, const char *path);

#endif
