/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Puts the flash in a state of use before the benchmark: a share of its pages
 * holding valid data, another holding data that has been deleted.
 *
 * Writes two files, and watches the chip's own count of programmed pages after
 * each chunk, because neither metadata nor compression can be foreseen. What is
 * to be interleaved is written in small chunks by turns, each pushed to the
 * flash before the next: else a file system that writes back would gather each
 * file's pages. Then the second file is deleted, after an fsync(): deleted
 * data that never left memory would invalidate nothing.
 *
 * Without the chip it goes by bytes of the file system's size, unverified.
 */
#ifndef FFSMARK_FILL_H
#define FFSMARK_FILL_H

#include "payload.h"
#include "phases.h"

/* Most bytes that a fill asks of the payload at a time. */
uint64_t fill_largest(const struct config *config);

bool fill_wanted(const struct config *config);

/* All of the fill phase but its sync. Removes what it wrote if it fails. */
int fill_run(struct phases *phases, struct payload *payload);

/* Complete the obtained state from the chip as it is before the creation. */
void fill_judge(const struct config *config, struct result *result,
		const struct flash_counters *before_creation);

/* Remove the valid data. */
int fill_remove(const struct config *config);

/* Bytes this fill would write on a file system without overhead. */
uint64_t fill_estimate(const struct config *config);

#endif
