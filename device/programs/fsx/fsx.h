/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the parts of fsx; main.c says what it does. */
#ifndef FSX_H
#define FSX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kind {
	READ,
	MAP_READ,
	WRITE,
	APPEND,
	MAP_WRITE,
	SHRINK,
	GROW,
	SYNC,
	REOPEN,
	DROP,
	REMOUNT,
	KINDS,
};

struct request {
	const char *file;
	const char *remount;	  /* NULL: never */
	const char *drop_control; /* see pagecache.h */
	uint64_t seed;
	uint64_t operations;
	uint64_t spoil; /* operation after which a byte is spoiled; 0: none */
	uint64_t largest_file;
	uint64_t largest_piece;
	bool no_map_write; /* the file system maps no shared writable pages */
};

/* One operation as it was drawn. */
struct drawn {
	uint64_t number; /* from 1 */
	enum kind kind;
	uint64_t at;
	uint64_t size;
};

/* The file, and what it must hold. */
struct subject {
	const struct request *request;
	int fd;
	unsigned char *model; /* largest_file bytes */
	uint64_t size;
	unsigned char *buffer; /* largest_file bytes, and a page */
	uint64_t random;
	uint64_t done[KINDS];
	struct drawn now;
};

extern const char *const kind_names[KINDS];

/* A random number below @limit. */
uint64_t below(struct subject *subject, uint64_t limit);
/* Draw the next operation. False: it cannot be done now, draw again. */
bool draw(struct subject *subject);

int subject_open(struct subject *subject, const struct request *request);
void subject_close(struct subject *subject);
/* Draw an operation and do it. -1 after a message about what is wrong. */
int subject_step(struct subject *subject, uint64_t number);
/* Check the size and all bytes of the file. */
int subject_verify(struct subject *subject);
/* Change a byte of the file, but not of the model. */
int subject_spoil(struct subject *subject);

#endif
