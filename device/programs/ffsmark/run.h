/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One run of the benchmark, from the fill to the last file removed. */
#ifndef FFSMARK_RUN_H
#define FFSMARK_RUN_H

#include <stdio.h>

#include "config.h"
#include "result.h"

/*
 * Do all that @config says. @drop_control is the file that drops the page cache
 * when written; the name of each phase goes to @progress. Returns 0, or -1 when
 * something failed, with its message on stderr, or when a signal came (see
 * interrupt.h). Either way no file is left behind, except those that a message
 * names and those that were asked for. The caller closes @result.
 */
int run_benchmark(const struct config *config, const char *drop_control,
		  FILE *progress, struct result *result);

#endif
