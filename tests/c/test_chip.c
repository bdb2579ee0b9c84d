// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The simulated chip (device/modules/simnand), driven cycle by cycle in user
 * space: commands, counts, times, legality. Every workload is a prime number of
 * operations, so that a count can match only if each was counted once. Prints
 * what failed and where; exits with 1 if anything did.
 */
#include "drive.h"

static void test_identity(void)
{
	const u8 at_id = 0x00, at_onfi = 0x20;
	struct chip chip;
	u8 id[5];

	start(&chip, &large, NULL);
	chip_command(&chip, 0xff);
	CHECK_EQ(status(&chip), STATUS_GOOD);
	chip_command(&chip, 0x90);
	chip_address(&chip, &at_id, 1);
	chip_data_out(&chip, id, 2, true);
	chip_data_out(&chip, id + 2, 3, true);
	CHECK_EQ(memcmp(id, "\x2c\xda\x90\0\0", 5), 0);
	chip_command(&chip, 0x90);
	chip_address(&chip, &at_onfi, 1);
	chip_data_out(&chip, id, 5, true);
	CHECK_EQ(memcmp(id, "\0\0\0\0\0", 5), 0);
	CHECK_EQ(chip.counts.bytes_read, 0);
	chip_exit(&chip);
}

static void get_feature(struct chip *chip, u8 number, u8 *found)
{
	chip_command(chip, 0xee);
	chip_address(chip, &number, 1);
	chip_data_out(chip, found, FEATURE_BYTES, true);
}

/* Features are 0 when power comes; one that is set is told back, and no other
 * changes. */
static void test_features(void)
{
	const u8 zeros[FEATURE_BYTES] = {0}, set[FEATURE_BYTES] = {7, 5, 3, 2};
	const u8 number = 0xb0;
	struct chip chip;
	u8 found[FEATURE_BYTES];
	unsigned int i;

	start(&chip, &large, NULL);
	chip_take_ns(&chip);
	get_feature(&chip, 0xa0, found);
	CHECK_EQ(chip_take_ns(&chip), 2 * 30 + 1000 + FEATURE_BYTES * 20);
	CHECK_EQ(memcmp(found, zeros, FEATURE_BYTES), 0);
	chip_command(&chip, 0xef);
	chip_address(&chip, &number, 1);
	chip_data_in(&chip, set, FEATURE_BYTES, true);
	CHECK_EQ(chip_take_ns(&chip), 2 * 30 + FEATURE_BYTES * 30 + 1000);
	for (i = 0; i < 256; i++) {
		get_feature(&chip, i, found);
		CHECK_EQ(
			memcmp(found, i == number ? set : zeros, FEATURE_BYTES),
			0);
	}
	chip_command(&chip, 0xff); /* a reset keeps them */
	get_feature(&chip, number, found);
	CHECK_EQ(memcmp(found, set, FEATURE_BYTES), 0);
	chip_power(&chip, false);
	chip_power(&chip, true);
	get_feature(&chip, number, found);
	CHECK_EQ(memcmp(found, zeros, FEATURE_BYTES), 0);
	CHECK_EQ(chip.counts.bytes_read + chip.counts.bytes_written, 0);
	CHECK_EQ(chip.op_seq, 0);
	chip_exit(&chip);
}

/* What the list says and what the pins do is the same, for each command. */
static void test_commands(void)
{
	const u8 known[] = {0x00, 0x01, 0x05, 0x10, 0x30, 0x50, 0x60, 0x70,
			    0x80, 0x85, 0x90, 0xd0, 0xe0, 0xee, 0xef, 0xff};
	unsigned int opcode, count = 0;
	struct chip chip;

	start(&chip, &large, NULL);
	for (opcode = 0; opcode < 256; opcode++) {
		bool listed = memchr(known, (int)opcode, sizeof(known));

		chip_command(&chip, opcode);
		CHECK_EQ(chip_knows(opcode), listed);
		CHECK_EQ(chip.error, listed ? 0 : -EOPNOTSUPP);
		chip_error_told(&chip);
		CHECK_EQ(chip.error, 0);
		count += chip_knows(opcode);
	}
	CHECK_EQ(count, sizeof(known));
	CHECK_EQ(chip.op_seq, 0);
	chip_power(&chip, false);
	chip_command(&chip, 0xec);
	CHECK_EQ(chip.error, -EIO);
	chip_error_told(&chip);
	CHECK_EQ(chip.error, -EIO);
	chip_power(&chip, true);
	CHECK_EQ(chip.error, 0);
	chip_exit(&chip);
}

/* 101 pages out and back, on memory of ours and on the chip's own. */
static void test_pages(void *array)
{
	static u8 page[2112], back[2112];
	struct chip chip;
	u32 i;

	start(&chip, &large, array);
	for (i = 0; i < 101; i++) {
		fill(page, sizeof(page), i);
		CHECK_EQ(program(&chip, i, 0, page, sizeof(page)), STATUS_GOOD);
	}
	for (i = 0; i < 101; i++) {
		fill(page, sizeof(page), i);
		read(&chip, i, 0, back, sizeof(back));
		CHECK_EQ(memcmp(page, back, sizeof(page)), 0);
	}
	CHECK_EQ(chip.counts.programs, 101);
	CHECK_EQ(chip.counts.reads, 101);
	CHECK_EQ(chip.counts.subpage_programs, 0);
	CHECK_EQ(chip.counts.oob_programs, 0);
	CHECK_EQ(chip.counts.bytes_written, 101 * 2112);
	CHECK_EQ(chip.counts.bytes_read, 101 * 2112);
	CHECK_EQ(chip.block[0].programs, 64);
	CHECK_EQ(chip.block[1].programs, 37);
	CHECK_EQ(chip_data_pages(&chip, 16), 101);
	CHECK_EQ(chip_data_pages(&chip, 1), 64);
	CHECK_EQ(chip_erased_blocks(&chip, 16), 14);
	CHECK_EQ(chip_erased_blocks(&chip, 1), 0);
	CHECK_EQ(erase(&chip, 0), STATUS_GOOD);
	CHECK_EQ(chip_data_pages(&chip, 16), 37);
	CHECK_EQ(chip_erased_blocks(&chip, 16), 15);
	read(&chip, 5, 0, back, sizeof(back));
	memset(page, 0xff, sizeof(page));
	CHECK_EQ(memcmp(page, back, sizeof(page)), 0);
	CHECK_EQ(chip.counts.erases, 1);
	CHECK_EQ(chip.block[0].erases, 1);
	CHECK_EQ(reports, 0);
	chip_reset_counts(&chip);
	CHECK_EQ(chip.counts.reads + chip.block[0].reads, 0);
	CHECK_EQ(chip_data_pages(&chip, 16), 37);
	chip_exit(&chip);
}

/* The sum of cycles, worked out by hand. */
static void test_time(unsigned int bus_bits)
{
	struct chip_params params = large;
	u64 data = bus_bits == 16 ? 1056 : 2112;
	static u8 page[2112];
	struct chip chip;

	params.bus_bits = bus_bits;
	start(&chip, &params, NULL);
	program(&chip, 3, 0, page, sizeof(page));
	CHECK_EQ(chip_take_ns(&chip),
		 (1 + 4 + data + 1 + 1) * 30 + 200000 + 20);
	read(&chip, 3, 0, page, sizeof(page));
	CHECK_EQ(chip_take_ns(&chip), (1 + 4 + 1) * 30 + 25000 + data * 20);
	erase(&chip, 0);
	CHECK_EQ(chip_take_ns(&chip), (1 + 2 + 1 + 1) * 30 + 700000 + 20);
	CHECK_EQ(chip_take_ns(&chip), 0);
	chip_exit(&chip);
}

/* What an array read counts as is known only once its bytes are moved. */
static void test_oob_reads(void)
{
	const u8 to_oob[2] = {0x00, 0x08}, to_data[2] = {0x00, 0x02};
	struct chip chip;
	u8 bytes[64];

	start(&chip, &large, NULL);
	read(&chip, 70, 2048, bytes, 64);
	CHECK_EQ(chip.counts.oob_reads, 1);
	CHECK_EQ(chip.block[1].oob_reads, 1);
	read(&chip, 71, 0, bytes, 0);
	CHECK_EQ(chip.counts.reads, 1); /* addressed at data, none moved yet */
	chip_command(&chip, 0x05);
	chip_address(&chip, to_oob, 2);
	chip_command(&chip, 0xe0);
	chip_data_out(&chip, bytes, 7, false);
	CHECK_EQ(chip.counts.reads, 0);
	CHECK_EQ(chip.counts.oob_reads, 2);
	chip_command(&chip, 0x05);
	chip_address(&chip, to_data, 2);
	chip_command(&chip, 0xe0);
	chip_data_out(&chip, bytes, 7, false);
	CHECK_EQ(chip.counts.reads, 1);
	CHECK_EQ(chip.counts.oob_reads, 1);
	CHECK_EQ(chip.block[1].reads, 1);
	CHECK_EQ(chip.counts.bytes_read, 64 + 7 + 7);
	chip_exit(&chip);
}

/* A JFFS2 cleanmarker, then four quarters of the page, then one too many. */
static void test_partial(void)
{
	const u8 marker[8] = {0x85, 0x19, 3, 0x20, 8, 0, 0, 0};
	static u8 page[2112], back[2112];
	struct chip_params params = large;
	struct chip chip;
	u32 i;

	params.nop = 5;
	start(&chip, &params, NULL);
	program(&chip, 0, 2048, marker, sizeof(marker));
	CHECK_EQ(chip.counts.oob_programs, 1);
	CHECK_EQ(chip.counts.programs, 0);
	CHECK_EQ(chip_data_pages(&chip, 1), 0);
	CHECK_EQ(chip_erased_blocks(&chip, 16), 15);
	fill(page, sizeof(page), 5);
	for (i = 0; i < 4; i++)
		program(&chip, 0, 512 * i, page + 512 * i, 512);
	CHECK_EQ(chip.counts.programs, 4);
	CHECK_EQ(chip.counts.subpage_programs, 4);
	CHECK_EQ(chip_data_pages(&chip, 1), 1);
	read(&chip, 0, 0, back, sizeof(back));
	CHECK_EQ(memcmp(page, back, 2048), 0);
	CHECK_EQ(memcmp(marker, back + 2048, sizeof(marker)), 0);
	CHECK_EQ(reports, 0);

	memset(back, 0, 4);
	CHECK_EQ(program(&chip, 0, 0, back, 4), STATUS_GOOD);
	CHECK_EQ(chip.counts.illegal, 1);
	CHECK_EQ(chip.counts.illegal_nop, 1);
	CHECK_EQ(last_trouble, CHIP_TOO_MANY_PROGRAMS);
	read(&chip, 0, 0, back, 8);
	for (i = 0; i < 8; i++)
		CHECK_EQ(back[i], i < 4 ? 0 : page[i]);
	chip_exit(&chip);
}

/* Load two columns of one program with RANDOM DATA INPUT between. */
static void test_random_data_in(void)
{
	const u8 to_oob[2] = {0x04, 0x08};
	struct chip chip;
	u8 back[70];

	start(&chip, &large, NULL);
	chip_command(&chip, 0x80);
	address(&chip, 512, 9);
	chip_data_in(&chip, (const u8 *)"data", 4, false);
	chip_command(&chip, 0x85);
	chip_address(&chip, to_oob, 2);
	chip_data_in(&chip, (const u8 *)"spare", 5, false);
	chip_command(&chip, 0x10);
	CHECK_EQ(status(&chip), STATUS_GOOD);
	read(&chip, 9, 511, back, 6);
	CHECK_EQ(memcmp(back,
			"\xff"
			"data\xff",
			6),
		 0);
	read(&chip, 9, 2052, back, 5);
	CHECK_EQ(memcmp(back, "spare", 5), 0);
	CHECK_EQ(chip.counts.programs, 1);
	CHECK_EQ(chip.counts.subpage_programs, 1);
	CHECK_EQ(chip.counts.oob_programs, 0);
	chip_exit(&chip);
}

static void test_order_and_range(void)
{
	struct chip_params params = large;
	static u8 page[2112];
	struct chip chip;

	start(&chip, &params, NULL);
	program(&chip, 66, 0, page, 2112);
	program(&chip, 66, 0, page, 2112);
	CHECK_EQ(reports, 0);
	program(&chip, 65, 0, page, 2112);
	CHECK_EQ(reports, 1);
	CHECK_EQ(last_trouble, CHIP_OUT_OF_ORDER);
	erase(&chip, 1);
	program(&chip, 65, 0, page, 2112);
	CHECK_EQ(reports, 1);

	CHECK_EQ(program(&chip, 16 * 64, 0, page, 2112) & STATUS_FAIL, 1);
	CHECK_EQ(last_trouble, CHIP_OUT_OF_RANGE);
	CHECK_EQ(erase(&chip, 16) & STATUS_FAIL, 1);
	read(&chip, 16 * 64 + 63, 0, page, 2112);
	chip_command(&chip, 0x10); /* with nothing loaded */
	CHECK_EQ(status(&chip) & STATUS_FAIL, 1);
	CHECK_EQ(chip.counts.illegal, 5);
	CHECK_EQ(chip.counts.reads, 0);
	CHECK_EQ(chip.counts.erases, 1);
	CHECK_EQ(erase(&chip, 2), STATUS_GOOD);
	read(&chip, 2, 2110, page, 7); /* runs off the page: pulled up */
	CHECK_EQ(page[6], 0xff);
	chip_exit(&chip);

	params.in_order = false;
	start(&chip, &params, NULL);
	program(&chip, 66, 0, page, 2112);
	program(&chip, 65, 0, page, 2112);
	CHECK_EQ(reports, 0);
	chip_exit(&chip);
}

/* 512-byte pages: the area commands, and reading without READSTART. */
static void test_small_pages(void)
{
	struct chip_params params = small_params();
	u8 page[528], back[528];
	struct chip chip;
	u32 i;

	start(&chip, &params, NULL);
	for (i = 0; i < 37; i++) {
		fill(page, sizeof(page), i);
		chip_command(&chip, 0x00);
		program(&chip, i, 0, page, sizeof(page));
		read(&chip, i, 0, back, sizeof(back));
		CHECK_EQ(memcmp(page, back, sizeof(page)), 0);
	}
	chip_command(&chip, 0x01); /* second half */
	address(&chip, 4, 36);
	chip_data_out(&chip, back, 3, false);
	CHECK_EQ(memcmp(page + 260, back, 3), 0);
	chip_command(&chip, 0x50); /* spare area */
	address(&chip, 6, 36);
	chip_data_out(&chip, back, 3, false);
	CHECK_EQ(memcmp(page + 518, back, 3), 0);
	CHECK_EQ(chip.counts.reads, 37);
	CHECK_EQ(chip.counts.oob_reads, 0);
	CHECK_EQ(chip.counts.buffer_hits, 2); /* still in the register */
	chip_command(&chip, 0x50);
	program(&chip, 64, 6, page, 1);
	chip_command(&chip, 0x01);
	program(&chip, 64, 0, page, 256);
	CHECK_EQ(chip.counts.oob_programs, 1);
	CHECK_EQ(chip.counts.programs, 38);
	CHECK_EQ(chip.counts.subpage_programs, 1);
	CHECK_EQ(reports, 0);
	chip_exit(&chip);
}

static void test_refusals(void)
{
	struct chip_params params = large;

	CHECK_EQ(chip_check(&params) == NULL, 1);
	CHECK_EQ(chip_array_bytes(&params), 16 * 64 * 2112);
	params.writesize = 1000;
	CHECK_EQ(chip_check(&params) != NULL, 1);
	params = large;
	params.blocks = 17;
	CHECK_EQ(chip_check(&params) != NULL, 1);
	params = large;
	params.nop = 0;
	CHECK_EQ(chip_check(&params) != NULL, 1);
	params = large;
	params.id_len = 1;
	CHECK_EQ(chip_check(&params) != NULL, 1);
	params = small_params();
	CHECK_EQ(chip_check(&params) == NULL, 1);
	params.bus_bits = 16;
	CHECK_EQ(chip_check(&params) != NULL, 1);
}

int main(void)
{
	void *array = malloc(chip_array_bytes(&large));

	test_identity();
	test_commands();
	test_features();
	test_pages(array);
	test_pages(NULL);
	test_time(8);
	test_time(16);
	test_oob_reads();
	test_partial();
	test_random_data_in();
	test_order_and_range();
	test_small_pages();
	test_refusals();
	free(array);
	return verdict();
}
