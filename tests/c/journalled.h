/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A chip of large pages with its journal of power cuts. */
#ifndef TESTS_JOURNALLED_H
#define TESTS_JOURNALLED_H

#include "array.h"
#include "drive.h"
#include "torn.h"

#define MEMORY (8 << 20)

static u64 memory[MEMORY / sizeof(u64)];
static u8 page[2112];

static inline void begin(struct chip *chip, struct journal *journal)
{
	start(chip, &large, NULL);
	CHECK_EQ(journal_open(journal, chip, memory, MEMORY), 0);
}

static inline void end(struct chip *chip, struct journal *journal)
{
	journal_close(journal);
	chip_exit(chip);
}

#endif
