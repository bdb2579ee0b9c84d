/* SPDX-License-Identifier: GPL-2.0-or-later */
/* debugfs fsram/: usage, functions, and series where one is kept. */
#ifndef FSRAM_SHOW_H
#define FSRAM_SHOW_H

#include <linux/types.h>

void show_init(bool series);
void show_exit(void);

#endif
