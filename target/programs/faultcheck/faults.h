/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * faultcheck: what a file system makes of a chip that fails, operation by
 * operation.
 *
 * It is cutcheck, with another campaign: a point is no power cut but a fault,
 * named as a variant, at the K-th flash operation of a load:
 *
 *   program  that program fails, and its block is worn out
 *   erase    that erase fails, likewise
 *   flips    as many bits as the ECC corrects are wrong in the page it wrote
 *   beyond   one more, so that the page cannot be read
 *   disturb  every block was read (K + 1) x DISTURB_READS times since its erase
 *   full     K files of 4 KiB are deleted of a file system that is full
 *
 * The load is played, up to the first call that fails: that one may have
 * happened in part, those before it must have happened, those after it have
 * not. After an unmount the file system is judged by two mounts as after a cut.
 * Bits go wrong in the midst of a load that says "damage", between two
 * mounts; else once it is over. Each fault is tried at K = 0, 1, 2 ... until
 * the load passes without it.
 */
#ifndef FAULTCHECK_FAULTS_H
#define FAULTCHECK_FAULTS_H

#include "../cutcheck/cut.h"

#define DISTURB_READS	20000u
#define FREE_STEP_BYTES 4096
#define FREE_MOST	64 /* steps of free room that are tried at the most */

enum fault {
	FAULT_PROGRAM,
	FAULT_ERASE,
	FAULT_FLIPS,
	FAULT_BEYOND,
	FAULT_DISTURB,
	FAULT_FULL,
	FAULTS,
	FAULT_UNKNOWN = FAULTS,
};

enum fault fault_of(const char *name);

/* damage.c: flip bits of the page that the K-th recorded operation programmed.
 * 1: it programmed none, or that page was written or erased since. -1 after a
 * message. */
int damage_page(uint32_t k, bool beyond, unsigned long seed);

/* filler.c: take all room of the file system, once; give some back; and all. */
int filler_fill(const struct subject *subject);
int filler_free(uint32_t steps);
int filler_remove(void);

#endif
