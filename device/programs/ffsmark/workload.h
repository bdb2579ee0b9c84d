/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Postmark's load: create files, do transactions on them, then delete all that
 * are left. Each operation is timed by itself and counted by phase.
 */
#ifndef FFSMARK_WORKLOAD_H
#define FFSMARK_WORKLOAD_H

#include "io.h"
#include "population.h"
#include "result.h"

struct workload {
	const struct config *config;
	struct result *result;
	struct population files;
	struct io io;
	enum phase phase;     /* for which operations count now */
	uint64_t directories; /* made so far, over all locations */
	struct slot *torn;    /* being created when something failed */
};

/* Make the subdirectories. Call workload_tidy() and workload_close() even when
 * this fails. */
int workload_open(struct workload *workload, const struct config *config,
		  struct payload *payload, struct result *result);

/* The three phases. Each returns -1 when one operation fails or a signal came.
 */
int workload_create(struct workload *workload);
int workload_transact(struct workload *workload);
int workload_delete(struct workload *workload);

/* Remove the files that are left, and the subdirectories. */
int workload_tidy(struct workload *workload);
void workload_close(struct workload *workload);

#endif
