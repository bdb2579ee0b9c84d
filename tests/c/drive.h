/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A controller for tests of the chip: the cycles of each operation, on chips
 * with two row cycles. Costs nothing but the chip's own work.
 */
#ifndef TESTS_DRIVE_H
#define TESTS_DRIVE_H

#include <stdio.h>

#include "chip.h"

#define CHECK_EQ(got, want)                                              \
	do {                                                             \
		unsigned long long got_ = (got), want_ = (want);         \
		if (got_ != want_) {                                     \
			printf("%s:%d: %s: %s is %llu, not %s = %llu\n", \
			       __FILE__, __LINE__, __func__, #got, got_, \
			       #want, want_);                            \
			failures++;                                      \
		}                                                        \
	} while (0)

#define STATUS_GOOD 0xe0
#define STATUS_FAIL 0x01

static int failures;
static __attribute__((unused)) unsigned int reports;
static __attribute__((unused)) enum chip_trouble last_trouble;

static inline void report(void *context, enum chip_trouble trouble, u32 block,
			  u32 page)
{
	(void)context;
	(void)block;
	(void)page;
	reports++;
	last_trouble = trouble;
}

static const struct chip_params large = {
	.writesize = 2048,
	.oobsize = 64,
	.erasesize = 131072,
	.blocks = 16,
	.bus_bits = 8,
	.nop = 4,
	.in_order = true,
	.id = {0x2c, 0xda, 0x90},
	.id_len = 3,
	.t_r_ns = 25000,
	.t_prog_ns = 200000,
	.t_bers_ns = 700000,
	.t_rc_ns = 20,
	.t_wc_ns = 30,
	.e_read_nj = -1,
	.e_prog_nj = -1,
	.e_erase_nj = -1,
	.register_hits = true,
};

static inline struct chip_params small_params(void)
{
	struct chip_params params = large;

	params.writesize = 512;
	params.oobsize = 16;
	params.erasesize = 16384;
	params.blocks = 64;
	return params;
}

static inline void start(struct chip *chip, const struct chip_params *params,
			 void *array)
{
	CHECK_EQ(chip_init(chip, params, array, report, NULL), 0);
	reports = 0;
}

static inline void address(struct chip *chip, u32 column, u32 row)
{
	u8 cycles[4] = {column, column >> 8, row, row >> 8};

	if (chip->params.writesize == 512) {
		cycles[1] = cycles[2];
		cycles[2] = cycles[3];
		chip_address(chip, cycles, 3);
	} else {
		chip_address(chip, cycles, 4);
	}
}

static inline u8 status(struct chip *chip)
{
	u8 byte;

	chip_command(chip, 0x70);
	chip_data_out(chip, &byte, 1, true);
	return byte;
}

static inline u8 program(struct chip *chip, u32 row, u32 column, const u8 *from,
			 u32 bytes)
{
	chip_command(chip, 0x80);
	address(chip, column, row);
	chip_data_in(chip, from, bytes, false);
	chip_command(chip, 0x10);
	return status(chip);
}

static inline void read(struct chip *chip, u32 row, u32 column, u8 *to,
			u32 bytes)
{
	chip_command(chip, 0x00);
	address(chip, column, row);
	if (chip->params.writesize != 512)
		chip_command(chip, 0x30);
	chip_data_out(chip, to, bytes, false);
}

static inline u8 erase(struct chip *chip, u32 block)
{
	u32 row = block * chip->pages_per_block;
	u8 cycles[2] = {row, row >> 8};

	chip_command(chip, 0x60);
	chip_address(chip, cycles, 2);
	chip_command(chip, 0xd0);
	return status(chip);
}

/* Bytes that differ from page to page and from seed to seed. */
static inline void fill(u8 *page, u32 bytes, u32 seed)
{
	u32 i;

	for (i = 0; i < bytes; i++)
		page[i] = i * 7 + i / 256 + seed * 13;
}

static inline int verdict(void)
{
	if (!failures)
		printf("all well\n");
	return failures != 0;
}

#endif
