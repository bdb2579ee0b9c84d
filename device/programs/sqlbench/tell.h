/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The result, as one line of JSON on stdout. */
#ifndef SQLBENCH_TELL_H
#define SQLBENCH_TELL_H

#include "database.h"
#include "measure.h"

/* Call measured_sort() before. */
int tell(const struct measured *measured, const struct database *database);

#endif
