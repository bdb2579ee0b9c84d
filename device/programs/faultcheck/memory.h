/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kinds of fault share by which an allocation of memory fails: the
 * module nomem, whose number and classes of allocations these are. */
#ifndef FAULTCHECK_MEMORY_H
#define FAULTCHECK_MEMORY_H

#include "faults.h"

#define ALLOCATIONS_MOST 4000 /* of a load, that are tried */

/* The members that such kinds share: each is a table beside these. */
#define MEMORY_KIND                                                     \
	.again = true, .prepare = memory_prepare, .begin = memory_fail, \
	.finish = memory_finish, .struck = memory_failed,               \
	.met = memory_failed, .note = memory_note

int memory_prepare(const struct request *request);
int memory_fail(const struct point *p);
int memory_finish(struct point *p);
bool memory_failed(void);
const char *memory_note(void);

#endif
