/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Puts the flash into a used state before the benchmark: a share of its pages
 * holds valid data, another share holds data that has been deleted.
 *
 * Writes two files until the chip's own count of programmed pages says that it
 * is enough, because neither metadata nor compression can be predicted. The
 * count is read each 64 KiB, and after half of the bytes that are missing as
 * the end comes near: so no chunk is written that would not be if it were read
 * after each.
 * Interleaved data are written in small chunks of each file in turn, each
 * synced to the flash before the next: otherwise a file system that writes back
 * would gather each file's pages. Then the second file is deleted, after an
 * fsync(): deleting data that never left memory would invalidate nothing.
 *
 * Without the chip's counts it uses bytes and the file system's size,
 * unverified.
 *
 * With "fill of free" it does what the FFSMark of Olivier and Boukhobza (2015)
 * does: the shares are of the bytes that statvfs tells to be free, the files
 * are written in blocks of 4096 random bytes and not synced, and the dead one
 * is removed before anything is. What the chip then holds is counted, but not
 * which of its pages are valid.
 */
#ifndef FFSMARK_FILL_H
#define FFSMARK_FILL_H

#include "json.h"
#include "payload.h"
#include "phases.h"

/* The most bytes that a fill asks of the payload at a time. */
uint64_t fill_largest(const struct config *config);

bool fill_wanted(const struct config *config);

/* The whole fill phase but its sync. If it fails, it removes what it wrote. */
int fill_run(struct phases *phases, struct payload *payload);

/* Whether the chip counts what a fill needs. */
static inline bool fill_is_counted(const struct flash_counters *counters)
{
	return counters->partition_pages &&
	       counters->partition_pages != COUNT_MISSING &&
	       counters->pages_programmed != COUNT_MISSING;
}

/* Complete the state reached, from the chip's counters before the creation. */
void fill_judge(const struct config *config, struct result *result,
		const struct flash_counters *before_creation);

/* Remove the valid data. */
int fill_remove(const struct config *config);

/* Bytes this fill would write on a file system without overhead. */
uint64_t fill_estimate(const struct config *config);

#endif
