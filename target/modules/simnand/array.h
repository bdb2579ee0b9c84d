/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the chip's own files share, and nobody else uses. */
#ifndef SIMNAND_ARRAY_H
#define SIMNAND_ARRAY_H

#include "chip.h"

enum {
	STATUS_FAIL = 0x01,
	STATUS_IDLE = 0xe0, /* ready twice over, and not write-protected */
};

static inline bool small_page(const struct chip *chip)
{
	return chip->params.writesize == 512;
}

static inline struct chip_block *block_of(struct chip *chip, u32 page)
{
	return &chip->block[page / chip->pages_per_block];
}

/* array.c: the operations that the command decoder starts, on the page
 * chip->row, which exists. */
void array_read(struct chip *chip);
void array_program(struct chip *chip);
void array_erase(struct chip *chip);

/* Page bytes have crossed the bus: at which column, how many. */
void array_moved(struct chip *chip, u32 column, u32 bytes);

/* Count trouble that the data sheet forbids, and tell of it. */
void chip_misuse(struct chip *chip, enum chip_trouble why);

/* The cells of a page. NULL: not allocated, and that cannot be done now. */
u8 *cells_of(struct chip *chip, u32 page);

/* What a page holds, wrong bits aside: for reading it by any way. */
void page_content(struct chip *chip, u32 page, u8 *to);

/* legal.c. Counts what is wrong with the present program; true if anything
 * is. overwrites: it wants bits set that are 0. */
bool check_program(struct chip *chip, bool *overwrites);

/* Bits cleared past the ECC engine in a page that it has written: its check
 * bytes still tell what was there, so these bits are errors from now on. False
 * if the program is none of that kind, and nothing was done. */
bool plant_errors(struct chip *chip, const u8 *cells);

#endif
