/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a workload program says that something went wrong: one line on stderr,
 * and -1 returned to the caller that must clean up.
 */
#ifndef LIB_DIAG_H
#define LIB_DIAG_H

/* Exit codes shared by every program. */
enum {
	EXIT_OK = 0,
	EXIT_RUN_FAILED = 1,  /* the workload could not be completed */
	EXIT_USAGE = 2,	      /* a command, a value or an option is wrong */
	EXIT_BY_SIGNAL = 128, /* plus the number of the signal */
};

/* The name put before every message. Set once, by main(). */
extern const char *diag_program;

/* Say what is wrong. Always returns -1. */
int fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Say that @verb could not be done to @path, with the text of errno.
 * Always returns -1, and keeps errno for diag_errno().
 */
int fail_errno(const char *verb, const char *path);

/* errno of the last fail_errno(), 0 if there was none. */
int diag_errno(void);

/* Text in newly allocated memory; ends the program when memory is exhausted. */
char *text(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Zeroed memory; ends the program with a message about @what if there is
 * none. */
void *allocate(unsigned long long count, unsigned long size, const char *what);

#endif
