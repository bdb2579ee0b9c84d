// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the simulated chip writes down: counts, phases, the operation log,
 * images. Prime numbers of operations, each to be found again exactly; images
 * cut or changed at every place, each to be refused.
 */
#include "drive.h"
#include "image.h"

static u8 page[2112], back[2112];

static void test_counts(void)
{
	struct chip_params params = large;
	struct chip chip;
	u32 i;

	params.e_read_nj = 3;
	params.e_prog_nj = 50;
	params.e_erase_nj = 700;
	start(&chip, &params, NULL);
	for (i = 0; i < 13; i++)
		program(&chip, i, 0, page, 2112);
	for (i = 0; i < 7; i++)
		read(&chip, i, 0, back, 2112);
	chip_take_ns(&chip);
	for (i = 0; i < 3; i++) {
		read(&chip, 6, 0, back, 2112); /* in the register */
		CHECK_EQ(chip_take_ns(&chip), 6 * 30 + 2112 * 20);
	}
	erase(&chip, 0);
	CHECK_EQ(chip.counts.energy_nj, 7 * 3 + 13 * 50 + 700);
	CHECK_EQ(chip.counts.reads, 7);
	CHECK_EQ(chip.counts.buffer_hits, 3);
	CHECK_EQ(chip.block[0].buffer_hits, 3);
	chip_take_ns(&chip);
	CHECK_EQ(chip.counts.busy_ns,
		 7 * (25000 + 180 + 2112 * 20) + 3 * (180 + 2112 * 20) +
			 13 * ((7 + 2112) * 30 + 200000 + 20) +
			 (5 * 30 + 700000 + 20));
	chip_exit(&chip);
}

static void test_phases(void)
{
	struct phases *phases;
	struct chip chip;
	u32 i;

	start(&chip, &large, NULL);
	phases = &chip.phases;
	erase(&chip, 0);
	CHECK_EQ(phases_mark(phases, &chip.counts, "one", 100), 0);
	for (i = 0; i < 5; i++)
		erase(&chip, i);
	chip_reset_counts(&chip); /* no phase loses anything by it */
	erase(&chip, 1);
	erase(&chip, 2);
	CHECK_EQ(phases_mark(phases, &chip.counts, "two", 200), 0);
	program(&chip, 0, 0, page, 11);
	CHECK_EQ(phases_mark(phases, &chip.counts, "", 300), 0);
	erase(&chip, 1);
	phases_update(phases, &chip.counts);
	CHECK_EQ(phases->count, 2);
	CHECK_EQ(strcmp(phases->phase[0].name, "one"), 0);
	CHECK_EQ(phases->phase[0].counts.erases, 7);
	CHECK_EQ(phases->phase[0].end_ns, 200);
	CHECK_EQ(phases->phase[1].counts.erases, 0);
	CHECK_EQ(phases->phase[1].counts.programs, 1);
	CHECK_EQ(phases->phase[1].counts.bytes_written, 11);
	for (i = 2; i < PHASES_MAX; i++)
		CHECK_EQ(phases_mark(phases, &chip.counts, "more", i), 0);
	CHECK_EQ(phases_mark(phases, &chip.counts, "more", 0) == -ENOSPC, 1);
	CHECK_EQ(phases->open, 0);
	chip_exit(&chip);
}

static void test_log(void)
{
	const struct oplog_record *r;
	struct chip chip;
	u32 i;

	start(&chip, &large, NULL);
	CHECK_EQ(oplog_init(&chip.log, 37), 0);
	erase(&chip, 0); /* not started: not in it, but numbered */
	chip.log.on = true;
	chip_take_ns(&chip);
	chip.clock_ns = 1000000;
	for (i = 0; i < 13; i++)
		program(&chip, i, 0, page, 2112);
	for (i = 0; i < 11; i++)
		read(&chip, i, 2048, back, 64);
	read(&chip, 10, 0, back, 512); /* a hit; makes the read a page's */
	for (i = 0; i < 17; i++)
		erase(&chip, i % 16);
	CHECK_EQ(chip.log.count, 37);
	CHECK_EQ(chip.log.lost, 13 + 11 + 1 + 17 - 37);
	r = chip.log.record;
	for (i = 0; i < 13; i++) {
		CHECK_EQ(r[i].op, 2 + i);
		CHECK_EQ(r[i].kind, OPLOG_PROGRAM);
		CHECK_EQ(r[i].bytes, 2112);
		CHECK_EQ(r[i].page, i);
		CHECK_EQ(r[i].array_ns, 200000);
	}
	CHECK_EQ(r[0].time_ns, 1000000 + 30 * (1 + 4 + 2112 + 1));
	CHECK_EQ(r[13].kind, OPLOG_OOB_READ);
	CHECK_EQ(r[13].op, 0);
	CHECK_EQ(r[23].kind, OPLOG_READ);
	CHECK_EQ(r[23].bytes, 64);
	CHECK_EQ(r[24].kind, OPLOG_HIT);
	CHECK_EQ(r[24].bytes, 512);
	CHECK_EQ(r[25].kind, OPLOG_ERASE);
	CHECK_EQ(r[26].page, 64);
	chip_log_clear(&chip);
	CHECK_EQ(chip.log.count + chip.log.lost, 0);
	chip_exit(&chip);
}

struct bytes {
	u8 *at;
	size_t count, taken;
};

static size_t take(void *context, void *to, size_t count)
{
	struct bytes *bytes = context;
	size_t left = bytes->count - bytes->taken;

	count = count < left ? count : left;
	memcpy(to, bytes->at + bytes->taken, count);
	bytes->taken += count;
	return count;
}

static struct bytes save(struct chip *chip)
{
	struct bytes all = {.at = malloc(chip_array_bytes(&chip->params) * 2)};
	u32 part;

	for (part = 0; part < chip->params.blocks + 2; part++) {
		bool empty = image_part_empty(chip, part);
		size_t bytes = image_put(chip, part, all.at + all.count);

		CHECK_EQ(empty, !bytes);
		all.count += bytes;
	}
	return all;
}

static const char *reload(struct chip *chip, const struct chip_params *params,
			  struct bytes image, size_t count)
{
	image.count = count;
	image.taken = 0;
	start(chip, params, NULL);
	return image_load(chip, take, &image);
}

static struct chip_params aged_params(void)
{
	struct chip_params params = large;

	params.writesize = 512;
	params.oobsize = 16;
	params.erasesize = 4096;
	params.blocks = 256;
	params.faults.bad_blocks = 5;
	params.faults.seed = 2;
	return params;
}

static void age(struct chip *chip)
{
	u32 i;

	for (i = 0; i < 97; i++) {
		fill(page, 528, i);
		program(chip, (i * 31) % 2048, 0, page, 528);
	}
	for (i = 0; i < 53; i++)
		erase(chip, (i * 7) % 256);
	program(chip, 90, 512, page, 16);
	for (i = 0; i < 7; i++)
		read(chip, i * 31, 0, back, 528);
	while (chip->state[i])
		i++;
	program(chip, i, 0, page, 528);
	CHECK_EQ(fault_flip_bit(chip, i, 77), 0);
	chip->faults.power_cut_at = chip->op_seq + 1;
	program(chip, 1999, 0, page, 528);
	chip_power(chip, true);
}

static void test_image_round_trip(void)
{
	struct chip_params params = aged_params();
	struct bytes first, second;
	struct chip chip, other;
	u32 i;

	start(&chip, &params, NULL);
	age(&chip);
	first = save(&chip);
	params.faults.bad_blocks = 0;
	params.faults.seed = 99;
	CHECK_EQ(reload(&other, &params, first, first.count) == NULL, 1);
	second = save(&other);
	CHECK_EQ(second.count, first.count);
	CHECK_EQ(memcmp(first.at, second.at, first.count), 0);
	CHECK_EQ(other.op_seq, chip.op_seq);
	CHECK_EQ(chip_data_pages(&other, 256), chip_data_pages(&chip, 256));
	CHECK_EQ(chip_erased_blocks(&other, 256),
		 chip_erased_blocks(&chip, 256));
	CHECK_EQ(memcmp(chip.state, other.state, 2048 * sizeof(u16)), 0);
	for (i = 0; i < 256; i++)
		CHECK_EQ(other.block[i].high, chip.block[i].high);
	free(first.at);
	free(second.at);
	chip_exit(&chip);
	chip_exit(&other);
}

/* Cut anywhere, changed anywhere, of another chip: always refused. */
static void test_image_refusals(void)
{
	struct chip_params params = aged_params();
	struct chip chip, other;
	struct bytes image;
	size_t at;

	start(&chip, &params, NULL);
	age(&chip);
	image = save(&chip);
	for (at = 0; at < image.count; at += at < 200 ? 1 : 997) {
		CHECK_EQ(reload(&other, &params, image, at) != NULL, 1);
		chip_exit(&other);
		image.at[at] ^= 0x10;
		CHECK_EQ(reload(&other, &params, image, image.count) != NULL,
			 1);
		chip_exit(&other);
		image.at[at] ^= 0x10;
	}
	CHECK_EQ(reload(&other, &params, image, image.count + 1) != NULL, 1);
	chip_exit(&other);
	params.blocks = 512;
	CHECK_EQ(strstr(reload(&other, &params, image, image.count),
			"geometry") != NULL,
		 1);
	chip_exit(&other);
	free(image.at);
	chip_exit(&chip);
}

int main(void)
{
	test_counts();
	test_phases();
	test_log();
	test_image_round_trip();
	test_image_refusals();
	return verdict();
}
