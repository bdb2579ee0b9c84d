// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What goes wrong with the simulated chip, on purpose: bad blocks, failures,
 * wear, flips, power cuts, legality; each at a known place or as often as its
 * parameters say, and the same again from the same seed.
 */
#include "drive.h"

static u8 page[2112], back[2112];

static const struct chip_ecc ecc4 = {
	.step = 512,
	.strength = 4,
	.bytes = 7,
	.check_at = 2112 - 28,
};

static u32 flagged(const struct chip *chip, u32 flag)
{
	u32 n = 0, i;

	for (i = 0; i < chip->params.blocks; i++)
		n += !!(chip->block[i].flags & flag);
	return n;
}

static void test_factory_bad(void)
{
	struct chip_params params = large;
	struct chip chip;
	u32 i, bad = 0;

	params.blocks = 128;
	params.faults.seed = 41;
	params.faults.bad_blocks = 11;
	start(&chip, &params, NULL);
	CHECK_EQ(flagged(&chip, CHIP_FACTORY_BAD), 11);
	CHECK_EQ(chip_erased_blocks(&chip, 128), 128 - 11);
	for (i = 0; i < 128; i++) {
		read(&chip, i * 64 + 1, 2048, back, 64);
		CHECK_EQ(back[0], chip.block[i].flags ? 0 : 0xff);
		CHECK_EQ(back[1], chip.block[i].flags ? 0 : 0xff);
		CHECK_EQ(back[2], 0xff);
		bad = chip.block[i].flags ? i : bad;
	}
	CHECK_EQ(erase(&chip, bad) & STATUS_FAIL, 1);
	CHECK_EQ(program(&chip, bad * 64, 0, page, 2112) & STATUS_FAIL, 1);
	read(&chip, bad * 64, 2048, back, 64);
	CHECK_EQ(back[0], 0);
	CHECK_EQ(chip.counts.erase_fails + chip.counts.program_fails, 2);
	chip_exit(&chip);

	params = small_params();
	params.faults.bad_block_ppm = 500000;
	params.bad_mark_pages = 4;
	start(&chip, &params, NULL);
	bad = flagged(&chip, CHIP_FACTORY_BAD);
	CHECK_EQ(bad > 15 && bad < 48, 1);
	for (i = 0; i < 64; i++) {
		read(&chip, i * 32 + 31, 0, back, 528);
		CHECK_EQ(back[517], chip.block[i].flags ? 0 : 0xff);
		CHECK_EQ(back[512], 0xff);
	}
	chip_exit(&chip);
}

static void test_failures_at(void)
{
	struct chip_params params = large;
	struct chip chip;
	u32 i;

	params.faults.program_fail_at = 13;
	params.faults.erase_fail_at = 3;
	start(&chip, &params, NULL);
	for (i = 1; i <= 67; i++) {
		u8 bad = program(&chip, i - 1, 0, page, 2112) & STATUS_FAIL;

		CHECK_EQ(bad, i >= 13 && i <= 64); /* with its block */
	}
	CHECK_EQ(chip.counts.program_fails, 64 - 12);
	for (i = 1; i <= 5; i++)
		CHECK_EQ(erase(&chip, i) & STATUS_FAIL, i == 3);
	CHECK_EQ(erase(&chip, 0) & STATUS_FAIL, 1);
	CHECK_EQ(chip.counts.erase_fails, 2);
	CHECK_EQ(chip.op_seq, 67 + 6);
	CHECK_EQ(flagged(&chip, CHIP_WORN_OUT), 2);
	CHECK_EQ(chip_erased_blocks(&chip, 16), 16 - 2);
	memset(back, 0, 2);
	CHECK_EQ(program(&chip, 3 * 64, 2048, back, 2),
		 STATUS_GOOD); /* marker */
	CHECK_EQ(chip.counts.illegal, 0);
	chip_exit(&chip);
}

static void test_failure_rate(void)
{
	struct chip_params params = large;
	struct chip chip;
	u32 i, failed = 0;

	params.faults.program_fail_ppb = 50000000; /* 1 in 20 */
	params.blocks = 1024;
	start(&chip, &params, NULL);
	for (i = 0; i < 1000; i++)
		failed += program(&chip, i * 64, 0, page, 1) & STATUS_FAIL;
	CHECK_EQ(failed > 30 && failed < 70, 1);
	CHECK_EQ(chip.counts.program_fails, failed);
	chip_exit(&chip);
}

/* Blocks die one by one, each at its own limit, whatever else is on. */
static void test_endurance(void)
{
	struct chip_params params = large;
	u32 i, n, died[16], least = ~0u, most = 0;
	struct chip chip;

	params.faults.endurance = 50;
	params.faults.endurance_spread = 20;
	params.faults.seed = 5;
	start(&chip, &params, NULL);
	for (i = 0; i < 16; i++) {
		for (n = 1; !(erase(&chip, i) & STATUS_FAIL); n++)
			;
		died[i] = n;
		CHECK_EQ(n, fault_endurance_of(&chip, i) + 1);
		CHECK_EQ(chip.block[i].wear, n);
		least = n < least ? n : least;
		most = n > most ? n : most;
		CHECK_EQ(program(&chip, i * 64, 0, page, 9) & STATUS_FAIL, 1);
	}
	CHECK_EQ(least >= 41 && least < 48 && most > 54 && most <= 61, 1);
	chip_reset_counts(&chip);
	CHECK_EQ(chip.block[3].wear, died[3]);
	chip_exit(&chip);

	params.faults.flip_ppt = 1000000;
	params.faults.program_fail_ppb = 1000;
	start(&chip, &params, NULL);
	for (i = 0; i < 16; i++)
		CHECK_EQ(fault_endurance_of(&chip, i) + 1, died[i]);
	chip_exit(&chip);
}

static u32 wrong_bits(const u8 *a, const u8 *b, u32 bytes)
{
	u32 n = 0, i;

	for (i = 0; i < bytes; i++)
		n += shim_weight8(a[i] ^ b[i]);
	return n;
}

/* As many as the rate says, the same at every look, and corrected. */
static void test_flip_rate(void)
{
	struct chip_params params = large;
	u32 i, n, all = 0, most, corrected = 0, failed = 0;
	struct chip chip;

	params.faults.flip_ppt = 20000000; /* 2e-5: 0.34 in a page */
	params.faults.seed = 3;
	start(&chip, &params, NULL);
	fill(page, sizeof(page), 1);
	for (i = 0; i < 1009; i++)
		program(&chip, i, 0, page, 2112);
	for (i = 0; i < 1009; i++) {
		read(&chip, i, 0, back, 2112);
		n = wrong_bits(page, back, 2112);
		CHECK_EQ(n, chip.flips.count);
		all += n;
		most = chip_ecc_page(&chip, &ecc4, back, back + 2048,
				     &corrected, &failed);
		CHECK_EQ(most <= n, 1);
		CHECK_EQ(wrong_bits(page, back, 2048), 0);
	}
	CHECK_EQ(chip.counts.flipped_bits, all);
	CHECK_EQ(all > 290 && all < 390, 1); /* 341 expected */
	CHECK_EQ(failed, 0);
	CHECK_EQ(corrected <= all && corrected > all * 9 / 10, 1);
	chip_exit(&chip);
}

/* More reads of a block, more wrong bits; an erase takes them away. */
static void test_read_disturb(void)
{
	struct chip_params params = large;
	u32 i, before = 0, n = 0;
	struct chip chip;

	params.faults.flip_read_ppt = 10000; /* 1e-8 a read */
	params.register_hits = false;
	start(&chip, &params, NULL);
	program(&chip, 7, 0, page, 2112);
	program(&chip, 64, 0, page, 2112);
	for (i = 0; i < 50000; i++) {
		read(&chip, 7, 0, back, 1);
		n = chip.flips.count;
		CHECK_EQ(n >= before, 1);
		before = n;
	}
	CHECK_EQ(n > 2 && n < 20, 1); /* 8.4 expected */
	read(&chip, 64, 0, back, 1);
	CHECK_EQ(chip.flips.count, 0);
	erase(&chip, 0);
	program(&chip, 7, 0, page, 2112);
	read(&chip, 7, 0, back, 1);
	CHECK_EQ(chip.flips.count, 0);
	chip_exit(&chip);
}

/* So many bits in a page at this wear, after so many days. */
static u32 bits_after(struct chip *chip, u32 page_index, u32 days)
{
	CHECK_EQ(faults_age(chip, days, 0), 0);
	read(chip, page_index, 0, back, 1);
	return chip->flips.count;
}

/* The older a page and the more worn its block, the more wrong bits; a page
 * programmed later is younger; an erase makes it new. */
static void test_retention(void)
{
	struct chip_params params = large;
	u32 i, n, young, old;
	struct chip chip;

	params.faults.flip_day_ppt = 1000000; /* 1e-6 a day: 0.0169 a page */
	params.faults.flip_day_wear_ppt = 1000000;
	params.faults.endurance = 100;
	params.register_hits = false;
	start(&chip, &params, NULL);
	for (i = 0; i < 50; i++)
		erase(&chip, 2);
	program(&chip, 0, 0, page, 2112);
	program(&chip, 128, 0, page, 2112);
	for (i = 0, n = 0; i < 600; i++, n = old) {
		old = bits_after(&chip, 0, 1);
		CHECK_EQ(old >= n, 1);
	}
	CHECK_EQ(old > 2 && old < 22, 1); /* 10.1 expected */
	read(&chip, 128, 0, back, 1);
	CHECK_EQ(chip.flips.count > 6 && chip.flips.count < 30, 1); /* 15.2 */
	program(&chip, 1, 0, page, 2112);
	young = bits_after(&chip, 1, 0);
	CHECK_EQ(young, 0);
	program(&chip, 0, 0, page, 2112); /* again: it stays as old */
	CHECK_EQ(bits_after(&chip, 0, 0), old);
	erase(&chip, 0);
	program(&chip, 0, 0, page, 2112);
	CHECK_EQ(bits_after(&chip, 0, 0), 0);
	CHECK_EQ(faults_age(&chip, DAYS_MAX, 0), -ERANGE);
	chip_exit(&chip);
}

/* Reads while it ages are reads of each block that holds anything. */
static void test_reads_while_it_ages(void)
{
	struct chip_params params = large;
	struct chip chip;

	start(&chip, &params, NULL);
	program(&chip, 64, 0, page, 2112);
	CHECK_EQ(faults_age(&chip, 30, 500), 0);
	CHECK_EQ(chip.block[0].disturb, 0);
	CHECK_EQ(chip.block[1].disturb, 500);
	CHECK_EQ(chip.counts.reads, 0);
	CHECK_EQ(faults_age(&chip, 0, ~0u), 0);
	CHECK_EQ(chip.block[1].disturb, ~0u);
	chip_exit(&chip);
}

/* Planted: up to the strength in a step and one more. */
static void test_planted_flips(void)
{
	u32 i, corrected = 0, failed = 0;
	struct chip chip;

	start(&chip, &large, NULL);
	fill(page, sizeof(page), 9);
	program(&chip, 0, 0, page, 2112);
	for (i = 0; i < 3; i++)
		CHECK_EQ(fault_flip_bit(&chip, 0, 4096 + 100 * i), 0);
	CHECK_EQ(fault_flip_bit(&chip, 0, 8 * (2112 - 28 + 7)), 0); /* check */
	read(&chip, 0, 0, back, 2112);
	CHECK_EQ(wrong_bits(page, back, 2112), 4);
	CHECK_EQ(chip_ecc_page(&chip, &ecc4, back, back + 2048, &corrected,
			       &failed),
		 4);
	CHECK_EQ(wrong_bits(page, back, 2112), 0);
	CHECK_EQ(corrected, 4);
	CHECK_EQ(fault_flip_bit(&chip, 0, 8191), 0);
	read(&chip, 0, 0, back, 2112);
	CHECK_EQ(chip_ecc_page(&chip, &ecc4, back, back + 2048, &corrected,
			       &failed),
		 0);
	CHECK_EQ(failed, 1);
	CHECK_EQ(wrong_bits(page, back, 2112), 5);
	CHECK_EQ(chip.counts.ecc_failed_pages, 1);
	CHECK_EQ(fault_flip_bit(&chip, 5, 0) == -EINVAL, 1); /* erased */

	chip.raw = true; /* as nandbiterrs: bits cleared past the engine */
	memcpy(back, page, 2112);
	for (i = 0; back[i] == 0; i++)
		;
	back[i] &= back[i] - 1;
	erase(&chip, 1);
	program(&chip, 64, 0, page, 2112);
	program(&chip, 64, 0, back, 2112);
	chip.raw = false;
	CHECK_EQ(chip.counts.raw_programs, 2);
	read(&chip, 64, 0, back, 2112);
	CHECK_EQ(wrong_bits(page, back, 2112), 1);
	CHECK_EQ(chip_ecc_page(&chip, &ecc4, back, back + 2048, &corrected,
			       &failed),
		 1);
	CHECK_EQ(wrong_bits(page, back, 2112), 0);
	chip_exit(&chip);
}

/* A cut in each of many operations: torn between old and new, then silence,
 * and all else as it was. */
static void test_power_cut(void)
{
	u32 seed, torn = 0, none = 0, whole = 0, i;
	struct chip_params params = large;
	struct chip chip;

	fill(page, sizeof(page), 4);
	for (seed = 0; seed < 64; seed++) {
		params.faults.seed = seed;
		params.faults.power_cut_at = 3;
		start(&chip, &params, NULL);
		program(&chip, 0, 0, page, 2112);
		program(&chip, 1, 0, page, 2112);
		CHECK_EQ(program(&chip, 2, 0, page, 2112), 0xff);
		CHECK_EQ(chip.powered, 0);
		CHECK_EQ(program(&chip, 3, 0, page, 2112), 0xff);
		CHECK_EQ(erase(&chip, 0), 0xff);
		read(&chip, 0, 0, back, 9);
		CHECK_EQ(back[8], 0xff);
		CHECK_EQ(chip.op_seq, 3);
		chip_power(&chip, true);
		CHECK_EQ(status(&chip), STATUS_GOOD);
		read(&chip, 1, 0, back, 2112);
		CHECK_EQ(wrong_bits(page, back, 2112), 0);
		read(&chip, 3, 0, back, 2112);
		CHECK_EQ(back[0], 0xff);
		read(&chip, 2, 0, back, 2112);
		for (i = 0; i < 2112; i++)
			CHECK_EQ(back[i] & page[i], page[i]);
		torn += chip.flips.garbled;
		none += !chip.state[2];
		whole += chip.state[2] && !chip.flips.garbled;
		if (chip.state[2] && !chip.flips.garbled)
			CHECK_EQ(wrong_bits(page, back, 2112), 0);
		CHECK_EQ(chip.counts.power_cuts, 1);
		chip.faults.power_cut_at = chip.op_seq + 1;
		CHECK_EQ(erase(&chip, 0), 0xff);
		chip_power(&chip, true);
		read(&chip, 1, 0, back, 2112);
		for (i = 0; i < 2112; i++)
			CHECK_EQ(back[i] & page[i], page[i]);
		CHECK_EQ(erase(&chip, 0), STATUS_GOOD);
		chip_exit(&chip);
	}
	CHECK_EQ(torn > 16 && none > 4 && whole > 4, 1);
	CHECK_EQ(torn + none + whole, 64);
}

static void test_not_erased(void)
{
	struct chip_params params = large;
	u32 corrected = 0, failed = 0;
	struct chip chip;

	start(&chip, &params, NULL);
	memset(page, 0x3c, sizeof(page));
	program(&chip, 0, 0, page, 2048);
	memset(page, 0xf0, sizeof(page));
	CHECK_EQ(program(&chip, 0, 0, page, 2048), STATUS_GOOD);
	CHECK_EQ(last_trouble, CHIP_NOT_ERASED);
	CHECK_EQ(chip.counts.illegal_erased, 1);
	CHECK_EQ(chip.counts.illegal, 1);
	read(&chip, 0, 0, back, 2112);
	CHECK_EQ(back[7], 0x30);
	chip_ecc_page(&chip, &ecc4, back, back + 2048, &corrected, &failed);
	CHECK_EQ(failed, 4);
	chip_exit(&chip);

	params.strict = true;
	start(&chip, &params, NULL);
	program(&chip, 0, 0, page, 2048);
	page[0] = 0x3c;
	CHECK_EQ(program(&chip, 0, 0, page, 2048) & STATUS_FAIL, 1);
	read(&chip, 0, 0, back, 1);
	CHECK_EQ(back[0], 0xf0);
	chip_exit(&chip);
}

/* A page is marked as deleted beside tags that are there: YAFFS1's way. */
static void test_marks_in_spare(void)
{
	const u8 tags = 0x43, mark = 0xbf;
	struct chip_params params = large;
	struct chip chip;

	start(&chip, &params, NULL);
	memset(page, 0x3c, sizeof(page));
	memset(page + 2048, 0xff, 64);
	page[2048 + 7] = tags;
	program(&chip, 0, 0, page, 2112);
	CHECK_EQ(program(&chip, 0, 2048 + 7, &mark, 1), STATUS_GOOD);
	CHECK_EQ(chip.counts.oob_programs, 1);
	CHECK_EQ(chip.counts.illegal, 0);
	read(&chip, 0, 0, back, 2112);
	CHECK_EQ(back[2048 + 7], tags & mark);
	CHECK_EQ(memcmp(back, page, 2048), 0);
	chip_exit(&chip);
}

int main(void)
{
	test_factory_bad();
	test_failures_at();
	test_failure_rate();
	test_endurance();
	test_flip_rate();
	test_read_disturb();
	test_retention();
	test_reads_while_it_ages();
	test_planted_flips();
	test_power_cut();
	test_not_erased();
	test_marks_in_spare();
	return verdict();
}
