/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kinds of fault share by which an allocation of memory fails: the
 * module nomem, whose number and classes of allocations these are. */
#ifndef FAULTCHECK_MEMORY_H
#define FAULTCHECK_MEMORY_H

#include "faults.h"

#define ALLOCATIONS_MOST 4000 /* of a load, that are tried */

/* As members of a kind. memory_fail(): the K-th allocation of this process from
 * now on; which: "any", "now". */
int memory_prepare(const struct request *request);
int memory_fail(const struct point *p, const char *which);
int memory_finish(struct point *p);
bool memory_failed(void);
const char *memory_note(void);

#endif
