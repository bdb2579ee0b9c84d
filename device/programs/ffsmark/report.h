/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The reports of a run: for people, in Postmark's two forms, and as JSON. */
#ifndef FFSMARK_REPORT_H
#define FFSMARK_REPORT_H

#include <stdio.h>

#include "config.h"
#include "result.h"

void report_people(FILE *out, const struct config *config,
		   const struct result *result);

/* One line; -1 after a message if it could not be written. */
int report_json(FILE *out, const struct config *config,
		const struct result *result);

#endif
