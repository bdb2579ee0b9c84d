/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A point of the sweep: so many requests of one size, at places that follow a
 * pattern, by one way of access and under one advice to the kernel.
 *
 * The file of points has one a line, in columns; '#' begins a comment:
 *
 *   name pattern n count size access advice pause_us drop reopen
 *
 * Every column is there. nandlab writes this file; it knows lists and defaults,
 * so that this program need not.
 */
#ifndef READBENCH_POINT_H
#define READBENCH_POINT_H

#include <stddef.h>
#include <stdint.h>

enum pattern {
	SEQUENTIAL,	  /* from the file's start, each after the last */
	BACKWARD,	  /* from the last whole request of the file down */
	STRIDE,		  /* every @n-th request's place, from the start */
	RANDOM,		  /* whole requests' places, none twice */
	RANDOM_REPLACE,	  /* whole requests' places, any of them again */
	RANDOM_UNALIGNED, /* from any byte, any of them again */
	HEAD,		  /* the first @n percent of each file */
};

enum access { ACCESS_READ, ACCESS_PREAD, ACCESS_MMAP };

/* Their names, by their numbers; ended by NULL. */
extern const char *const pattern_names[];
extern const char *const access_names[];
/* "none", then each call with its advice: "fadv_random". */
extern const char *const advice_names[];

struct point {
	char *name;	   /* ^[a-z][a-z0-9_]*$ */
	int pattern;	   /* enum pattern */
	int access;	   /* enum access */
	int advice;	   /* of advice_names */
	uint64_t n;	   /* of STRIDE, HEAD; 0 elsewhere */
	uint64_t count;	   /* requests; HEAD: 0, the files decide */
	uint64_t size;	   /* bytes of a request */
	uint64_t pause_us; /* between two requests; 0: none */
	uint64_t drop;	   /* 1: the page cache; 3: inodes and names too */
	uint64_t reopen;   /* 1: the file is opened for each request; 0: once */
};

struct points {
	struct point *all;
	size_t count;
};

/* Bytes that a file must have for the point's requests. */
uint64_t point_needs(const struct point *point);

/* Read the file of points. -1 after a message with the place of the mistake. */
int points_read(struct points *points, const char *path);
void points_free(struct points *points);

#endif
