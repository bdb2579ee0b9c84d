/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What goes wrong with a chip, and when. Faults draw from no common random
 * state: each decision is a function of the seed, the kind of fault, and what
 * it strikes (the n-th program, a block, a page and how often it has been
 * erased). So a seed gives the same faults whatever other faults are enabled,
 * and a chip loaded from an image behaves as the saved chip would have.
 */
#ifndef SIMNAND_FAULTS_H
#define SIMNAND_FAULTS_H

#include "shim.h"

/* The faults to inject. Set once, before chip_init(). All zero: none. */
struct fault_params {
	/* Chooses which blocks, operations and bits are struck. */
	unsigned long long seed;

	/* Exact number of factory-bad blocks; never block 0. */
	unsigned int bad_blocks;

	/* Chance of each further block to be factory-bad, in millionths. */
	unsigned int bad_block_ppm;

	/* Erases that a block endures. The next one fails, and so do all later
	 * programs and erases, except programs of spare bytes alone: a worn-out
	 * block still takes its bad block marker. 0: any number. */
	unsigned int endurance;

	/* How far a block's own limit may be from endurance, plus or minus, in
	 * percent of it, 0 to 100; drawn uniformly. */
	unsigned int endurance_spread;

	/* Number of the program, and of the erase, that fails and wears out its
	 * block; each is counted from 1 since manufacture. 0: none. */
	unsigned long long program_fail_at;
	unsigned long long erase_fail_at;

	/* Chance of each program and erase to fail likewise, in billionths. */
	unsigned int program_fail_ppb;
	unsigned int erase_fail_ppb;

	/* Bits of a programmed page that read wrong, per 10^12 bits: always;
	 * additional ones at the rated endurance, in proportion to wear;
	 * additional ones for each array read of the block since its erase. */
	unsigned int flip_ppt;
	unsigned int flip_wear_ppt;
	unsigned int flip_read_ppt;

	/* Retention: additional ones for each day since the page was programmed
	 * (faults_age()), and for each such day at the rated endurance, in
	 * proportion to wear. */
	unsigned int flip_day_ppt;
	unsigned int flip_day_wear_ppt;

	/* Power is cut in this program or erase, numbered since manufacture. 0:
	 * never. */
	unsigned long long power_cut_at;
};

/* A bit that reads wrong on purpose, until its block is erased. */
struct stored_flip {
	u32 page;
	u32 bit;
};

#define STORED_FLIPS_MAX 1024

/* What has happened so far, as far as later faults depend on it. */
struct faults {
	/* Programs and erases since manufacture that reached the array. */
	u64 programs;
	u64 erases;

	/* Bits that user space flipped (fault_flip_bit(), raw programs). */
	struct stored_flip stored[STORED_FLIPS_MAX];
	u32 stored_count;

	/* Number of the operation in which power is cut: the parameter, or set
	 * since. */
	u64 power_cut_at;
};

#define FLIPS_MAX 512

/* The wrong bits of the page in the register: bit numbers, each once. */
struct flips {
	u32 bit[FLIPS_MAX];
	u32 count;
	bool garbled; /* no ECC can correct the page */
};

/* Layout and strength of an ECC engine, for chip_ecc_page(). */
struct chip_ecc {
	unsigned int step;     /* data bytes of a step */
	unsigned int strength; /* bits that it corrects in a step */
	unsigned int bytes;    /* check bytes of a step */
	unsigned int check_at; /* first column of the check bytes, which extend
				* to the end of the page; 0: they are scattered,
				* and assumed correct */
};

/* Outcome of a program or an erase. */
enum fault { FAULT_NONE, FAULT_FAIL, FAULT_CUT };

struct chip;

/* NULL if the parameters are valid, else a sentence that says why not. */
const char *faults_check(const struct fault_params *params, u32 blocks);

/* Mark the factory-bad blocks. */
void faults_init(struct chip *chip);

/* Decide the outcome of the current program or erase of a block. chip->op_seq
 * must already be its number, and wear include the erase. */
enum fault fault_on_program(struct chip *chip, u32 block, bool has_data);
enum fault fault_on_erase(struct chip *chip, u32 block);

/* Erases that this block endures; ~0: any number. */
u32 fault_endurance_of(const struct chip *chip, u32 block);

/* Stop a program half way: only some of the bits in cells change. False if it
 * did nothing or everything; then *done tells which. Likewise an erase of one
 * page. */
bool fault_tear_program(const struct chip *chip, u8 *cells, const u8 *wanted,
			bool *done);
bool fault_tear_erase(const struct chip *chip, u32 page, u8 *cells, bool *done);

/* Whether days make bits wrong. */
static inline bool faults_retention(const struct fault_params *params)
{
	return params->flip_day_ppt || params->flip_day_wear_ppt;
}

/* The most days that a chip may get old. */
#define DAYS_MAX 100000

/* Let days pass, and each block with data be read so many times in them. Counts
 * nothing. -ERANGE: too many days. */
int faults_age(struct chip *chip, u32 days, u32 reads);

/* Find the wrong bits of a page and flip them in the register. */
void flips_apply(struct chip *chip, u32 page);

/* Make a bit of a page read wrong (or right again) until the next erase.
 * -EINVAL: no such bit; -ENOSPC: too many. */
int fault_flip_bit(struct chip *chip, u32 page, u32 bit);
bool fault_bit_is_flipped(const struct chip *chip, u32 page, u32 bit);
void faults_forget_block(struct chip *chip, u32 block);

/*
 * Run the ECC engine on copies of the register's data and spare area: it
 * corrects each step with up to strength wrong bits. Returns the most bits
 * corrected in a step. Adds the corrected bits to *corrected, the failed steps
 * to *failed.
 */
unsigned int chip_ecc_page(struct chip *chip, const struct chip_ecc *ecc,
			   u8 *data, u8 *oob, u32 *corrected, u32 *failed);

#endif
