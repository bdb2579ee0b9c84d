// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sequences of operations on the simulated chip against a model too simple to
 * be wrong: an array of bytes that programs AND and erases fill. The input's
 * first byte chooses what is on:
 *
 *   exact    no faults: every byte read is the model's
 *   faulty   failures, wear, power cuts: bits go only from 1 to 0 until the
 *            block is erased, and blocks that nobody touched do not change
 *   garbage  cycles of any kind in any order: nothing but the sums must hold
 *
 * In all of them the sums over blocks agree with the chip's own counts. Built
 * with clang -fsanitize=fuzzer -DLIBFUZZER it is a libFuzzer target; else a
 * program: chip_fuzz RUNS SEED, which prints the seed that failed. Costs some
 * 30 us a run.
 */
#include <stdio.h>

#include "array.h"
#include "prng.h"

#define BLOCKS	   32
#define PAGES	   (BLOCKS * 64)
#define PAGE_BYTES 528

enum mode { EXACT, FAULTY, GARBAGE };

/* Of the program, not of libFuzzer: re-runs what failed. */
static unsigned long long running_seed;

static u8 model[PAGES][PAGE_BYTES];

struct input {
	const u8 *at;
	size_t left;
};

#define DEMAND(what)                                                      \
	do {                                                              \
		if (!(what)) {                                            \
			fprintf(stderr, "%s:%d: seed %llu: not %s\n",     \
				__FILE__, __LINE__, running_seed, #what); \
			abort();                                          \
		}                                                         \
	} while (0)

static u8 byte(struct input *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->at++;
}

static u32 word(struct input *in)
{
	u32 low = byte(in);

	return low | byte(in) << 8;
}

/* Few pages, so that they meet again; now and then any. */
static u32 page_of(struct input *in)
{
	u32 n = word(in);

	return n % 5 ? n % 16 : n % PAGES;
}

static struct chip_params params_of(enum mode mode, struct input *in)
{
	struct chip_params params = {
		.writesize = 512,
		.oobsize = 16,
		.erasesize = 32768,
		.blocks = BLOCKS,
		.bus_bits = 8,
		.nop = 3,
		.id = {1, 2},
		.id_len = 2,
		.t_r_ns = 25000,
		.t_prog_ns = 200000,
		.t_bers_ns = 700000,
		.register_hits = true,
	};
	struct fault_params *f = &params.faults;

	if (mode == EXACT)
		return params;
	f->seed = byte(in);
	f->bad_blocks = byte(in) % 8;
	f->endurance = byte(in) % 8;
	f->endurance_spread = byte(in) % 101;
	f->program_fail_ppb = byte(in) * 1000000u;
	f->erase_fail_ppb = byte(in) * 1000000u;
	f->power_cut_at = byte(in);
	f->flip_ppt = byte(in) * 10000000u;
	return params;
}

static void address(struct chip *chip, u32 page)
{
	const u8 cycles[3] = {0, page, page >> 8};

	chip_address(chip, cycles, 3);
}

static void area_command(struct chip *chip, u32 column)
{
	chip_command(chip, column >= 512 ? 0x50 : column >= 256 ? 0x01 : 0x00);
}

/* The columns of small pages begin at an area: the rest is skipped with 0xff,
 * which programs nothing. */
static u32 area_of(u32 column)
{
	return column >= 512 ? 512 : column >= 256 ? 256 : 0;
}

static void program(struct chip *chip, struct input *in, bool model_too)
{
	u32 page = page_of(in), column = word(in) % PAGE_BYTES;
	u32 bytes = 1 + word(in) % (PAGE_BYTES - column), i;
	u32 first = area_of(column);
	u8 data[PAGE_BYTES], seed = byte(in);

	memset(data, 0xff, sizeof(data));
	for (i = column; i < column + bytes; i++)
		data[i] = prng(seed, PRNG_TEAR_BITS, page, i);
	area_command(chip, first);
	chip_command(chip, 0x80);
	address(chip, page);
	chip_data_in(chip, data + first, column + bytes - first, false);
	chip_command(chip, 0x10);
	for (i = 0; model_too && i < PAGE_BYTES; i++)
		model[page][i] &= data[i];
}

static void read(struct chip *chip, struct input *in, bool model_too)
{
	u32 page = page_of(in), first = area_of(word(in) % PAGE_BYTES);
	u32 bytes = word(in) % (PAGE_BYTES - first + 1);
	u8 data[PAGE_BYTES];

	area_command(chip, first);
	address(chip, page);
	chip_data_out(chip, data, bytes, false);
	if (model_too)
		DEMAND(!memcmp(data, model[page] + first, bytes));
}

static u32 erase(struct chip *chip, struct input *in, bool model_too)
{
	u32 page = page_of(in) & ~63u, block = page / 64;
	const u8 cycles[2] = {page, page >> 8};

	chip_command(chip, 0x60);
	chip_address(chip, cycles, 2);
	chip_command(chip, 0xd0);
	if (model_too)
		memset(model[page], 0xff, 64 * PAGE_BYTES);
	return block;
}

static void garbage(struct chip *chip, struct input *in)
{
	u8 data[600] = {0}, what = byte(in);
	u32 i;

	if (what < 90) {
		chip_command(chip, byte(in));
	} else if (what < 160) {
		for (i = 0; i < 8; i++)
			data[i] = byte(in);
		chip_address(chip, data, what % 9);
	} else if (what < 200) {
		chip_data_in(chip, data, word(in) % 601, what & 1);
	} else if (what < 240) {
		chip_data_out(chip, data, word(in) % 601, what & 1);
	} else if (what < 250) {
		chip_power(chip, what & 1);
	} else {
		fault_flip_bit(chip, word(in), word(in));
	}
}

/* Cells against what they were: block is the one erased, or ~0. */
static void only_cleared(struct chip *chip, u32 erased)
{
	u8 now[PAGE_BYTES];
	u32 page, i;

	for (page = 0; page < PAGES; page++) {
		if (!chip->state[page] && page / 64 != erased)
			continue;
		page_content(chip, page, now);
		for (i = 0; page / 64 != erased && i < PAGE_BYTES; i++)
			DEMAND(!(now[i] & ~model[page][i]));
		memcpy(model[page], now, PAGE_BYTES);
	}
}

static void sums_agree(const struct chip *chip, u64 wear_then)
{
	const struct chip_counts *c = &chip->counts;
	u64 reads = 0, programs = 0, erases = 0, wear = 0, oob = 0, hits = 0;
	u32 data_pages, i, j;

	for (i = 0; i < BLOCKS; i++) {
		const struct chip_block *b = &chip->block[i];

		reads += b->reads;
		programs += b->programs;
		erases += b->erases;
		oob += b->oob_reads + b->oob_programs;
		hits += b->buffer_hits;
		wear += b->wear;
		for (j = 0, data_pages = 0; j < 64; j++)
			data_pages +=
				!!(chip->state[i * 64 + j] & PAGE_HAS_DATA);
		DEMAND(data_pages == b->data_pages);
	}
	DEMAND(reads == c->reads && programs == c->programs);
	DEMAND(erases == c->erases && hits == c->buffer_hits);
	DEMAND(oob == c->oob_reads + c->oob_programs);
	DEMAND(wear == wear_then + c->erases);
	DEMAND(chip->op_seq == c->programs + c->oob_programs + c->erases);
	DEMAND(c->illegal == c->illegal_nop + c->illegal_order +
				     c->illegal_erased + c->illegal_range);
}

static void step(struct chip *chip, enum mode mode, struct input *in)
{
	u32 erased = ~0u;
	u8 what = byte(in);

	if (mode == GARBAGE && what & 1) {
		garbage(chip, in);
		return;
	}
	if (what < 140)
		program(chip, in, mode == EXACT);
	else if (what < 220)
		read(chip, in, mode == EXACT);
	else if (what < 250)
		erased = erase(chip, in, mode == EXACT);
	else
		chip_power(chip, true);
	if (mode == FAULTY)
		only_cleared(chip, erased);
}

static void run(const u8 *data, size_t bytes)
{
	struct input in = {.at = data, .left = bytes};
	enum mode mode = byte(&in) % 3;
	struct chip_params params = params_of(mode, &in);
	struct chip chip;
	u32 page;

	if (chip_check(&params))
		return;
	DEMAND(!chip_init(&chip, &params, NULL, NULL, NULL));
	for (page = 0; page < PAGES; page++)
		page_content(&chip, page, model[page]);
	while (in.left)
		step(&chip, mode, &in);
	sums_agree(&chip, 0);
	chip_exit(&chip);
}

#ifdef LIBFUZZER

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	run(data, bytes);
	return 0;
}

#else

int main(int argc, char **argv)
{
	u64 runs = argc > 1 ? strtoull(argv[1], NULL, 0) : 1000;
	u64 seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1, n;
	u8 data[1024];
	size_t i;

	for (n = 0; n < runs; n++, seed++) {
		for (i = 0; i < sizeof(data); i++)
			data[i] = prng(seed, PRNG_TEAR_BITS, 0, i);
		running_seed = seed;
		run(data, 64 + seed % (sizeof(data) - 64));
	}
	printf("%llu runs, all well\n", (unsigned long long)runs);
	return 0;
}

#endif
