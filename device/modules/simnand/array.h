/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the chip's own files; not for others. */
#ifndef SIMNAND_ARRAY_H
#define SIMNAND_ARRAY_H

#include "chip.h"

enum {
	STATUS_FAIL = 0x01,
	STATUS_IDLE = 0xe0, /* RDY and ARDY set, not write-protected */
};

static inline bool small_page(const struct chip *chip)
{
	return chip->params.writesize == 512;
}

static inline struct chip_block *block_of(struct chip *chip, u32 page)
{
	return &chip->block[page / chip->pages_per_block];
}

/* Eight bytes at any address. */
static inline u64 load_word(const u8 *at)
{
	u64 word;

	memcpy(&word, at, sizeof(word));
	return word;
}

static inline void store_word(u8 *at, u64 word)
{
	memcpy(at, &word, sizeof(word));
}

/* array.c: the operations that the command decoder starts, on page chip->row,
 * which must exist. */
void array_read(struct chip *chip);
void array_program(struct chip *chip);
void array_erase(struct chip *chip);

/* Account for page bytes that the chip puts on the bus, from this column on. */
void array_moved(struct chip *chip, u32 column, u32 bytes);

/* Count and report a use that the data sheet forbids. */
void chip_misuse(struct chip *chip, enum chip_trouble why);

/* The cells of a page. NULL: not allocated, and there is no memory now. */
u8 *cells_of(struct chip *chip, u32 page);

/* What a page holds, without wrong bits. Every way to read a page uses it. */
void page_content(struct chip *chip, u32 page, u8 *to);

/* legal.c: count the rules that the current program breaks; true if it breaks
 * any. *overwrites: it tries to set bits that are 0. */
bool check_program(struct chip *chip, bool *overwrites);

/* Plant errors: a raw program clears a few bits of a page that the ECC engine
 * has written. The check bytes still fit the old data, so these bits are wrong
 * from now on. False, and nothing is done, if this is no such program. */
bool plant_errors(struct chip *chip, const u8 *cells);

#endif
