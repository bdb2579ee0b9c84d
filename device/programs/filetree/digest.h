/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The digest of a tree: equal for equal names, sizes and bytes, whatever file
 * system holds them.
 *
 * It is the SHA-256 of a record for each folder and each entry, in the walk's
 * order (walk.h), which is that of making. Records end with a NUL; paths are
 * below the top, whose own is empty:
 *
 *   d PATH              a folder
 *   f SIZE SUM PATH     a file; SUM has 16 hexadecimal digits
 *   l PATH              a symbolic link, followed by its target and a NUL
 *   o PATH              anything else
 *
 * SUM is 64 bits, for SHA-256 of all content would take more time than making
 * the files: the content as little-endian words of 8 bytes, the last filled up
 * with zeros; from SUM = 0x9e3779b97f4a7c15, for each word
 * SUM = (SUM ^ word) * 0xbf58476d1ce4e5b9, then SUM ^= SUM >> 32.
 */
#ifndef FILETREE_DIGEST_H
#define FILETREE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#include "sha.h"

/* The sum of a file's content as it comes. */
struct sum {
	uint64_t value;
	uint64_t word;	   /* bytes that fill no word yet, the first lowest */
	unsigned int held; /* of them */
};

void sum_open(struct sum *sum);
void sum_add(struct sum *sum, const void *data, size_t size);
uint64_t sum_close(struct sum *sum);

void digest_folder(struct sha256 *sha, const char *path);
void digest_file(struct sha256 *sha, const char *path, uint64_t size,
		 uint64_t sum);
void digest_link(struct sha256 *sha, const char *path, const char *target);
void digest_other(struct sha256 *sha, const char *path);

#endif
