/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What fails, and how; faults.c tells what each is. */
#ifndef FAULTCHECK_FAULTS_H
#define FAULTCHECK_FAULTS_H

#include "cuts/campaign.h"

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
