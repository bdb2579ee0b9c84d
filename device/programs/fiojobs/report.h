/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What came out, as one line of JSON; docs/workloads.md has its form. */
#ifndef FIOJOBS_REPORT_H
#define FIOJOBS_REPORT_H

#include "jobs.h"
#include "looks.h"
#include "usage.h"
#include "work.h"

#define LOOKS 3 /* before a phase, after it, after its sync */

/* One of the numjobs of a job. */
struct clone {
	struct files files;
	uint64_t number;
	struct found *found;
};

struct clones {
	struct clone *all; /* in the order of their jobs */
	size_t count;
};

struct phase {
	uint64_t ns, sync_ns;
	uint64_t laid_out; /* bytes, of the first phase alone */
	struct look looks[LOOKS];
	struct usage used[2];
};

struct clones clones_of(const struct jobs *jobs, const char *folder);
void clones_free(struct clones *clones);

/* ns from the begin of a group's first job to the end of its last. */
uint64_t group_ns(const struct clones *clones, int group);

/* @phases: the laying out of files, then one for each group. */
int report(const struct jobs *jobs, const struct clones *clones,
	   const struct phase *phases);

#endif
