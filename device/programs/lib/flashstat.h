/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a NAND chip counted, read from the directory of text files where its
 * driver shows it:
 *
 *   counters  a line "key value" each; unknown keys are ignored
 *   blocks    a line "index reads programs erases" for each erase block of the
 *             partition, totals since the chip was reset; further columns are
 *             ignored
 *   pages_programmed
 *             that count alone, for who reads it often; a driver may lack it
 *
 * A key that is not there is COUNT_MISSING, never 0. Costs an open, a read and
 * a close each; causes no flash operation.
 */
#ifndef LIB_FLASHSTAT_H
#define LIB_FLASHSTAT_H

#include <stdint.h>

/* Where nandlab's own chip shows them. */
#ifndef FLASHSTAT_DIRECTORY /* a test has another */
#define FLASHSTAT_DIRECTORY "/sys/kernel/debug/simnand"
#endif

struct flash_counters {
	uint64_t reads;		   /* pages read since the chip was reset */
	uint64_t programs;	   /* pages programmed since then */
	uint64_t erases;	   /* blocks erased since then */
	uint64_t partition_pages;  /* pages in the exposed partition */
	uint64_t pages_programmed; /* pages programmed at this moment */
	uint64_t pages_per_block;
	uint64_t blocks;   /* erase blocks of the partition */
	uint64_t busy_ns;  /* time the chip spent working */
	uint64_t idle_ns;  /* time since its last operation ended */
	uint64_t worn_out; /* blocks of the chip that have failed */
};

struct flash_blocks {
	uint64_t count;
	uint64_t *reads; /* @count of each, in the order of the file */
	uint64_t *programs;
	uint64_t *erases;
};

/* 0, or -1 with errno set and no message: a chip may have no statistics. */
int flash_read_counters(const char *directory, struct flash_counters *counters);
int flash_read_blocks(const char *directory, struct flash_blocks *blocks);

/* A count in a file of its own, kept open: a reading is one pread(). The file
 * descriptor, or -1 if there is no such file. */
int flash_open_count(const char *directory, const char *name);
/* 0, or -1 with errno set and no message. */
int flash_read_count(int fd, uint64_t *count);

void flash_free_blocks(struct flash_blocks *blocks);

/* @later - @earlier; missing if either is, or if the count went backwards. */
uint64_t flash_delta(uint64_t later, uint64_t earlier);

#endif
