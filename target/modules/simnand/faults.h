/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What goes wrong with a chip, and when. Nothing here has a state of its own
 * that another kind of fault could move: each decision is a function of the
 * seed, the kind of fault, and what it strikes (the n-th program, a block, a
 * page and how often it has been erased). So a seed gives the same faults
 * whatever else is on, and a chip loaded from an image goes on as it would.
 */
#ifndef SIMNAND_FAULTS_H
#define SIMNAND_FAULTS_H

#include "shim.h"

/* What shall go wrong. Set once, before chip_init(). All zero: nothing. */
struct fault_params {
	/* Chooses which blocks, operations and bits are struck. */
	unsigned long long seed;

	/* Blocks that leave the factory bad, exactly; never block 0. */
	unsigned int bad_blocks;

	/* Further blocks that do, each with this chance, in millionths. */
	unsigned int bad_block_ppm;

	/* Erases that a block stands; the next fails, and with it all programs
	 * and erases after it, but for programs of spare bytes alone: a worn
	 * block still takes its bad block marker. 0: any number. */
	unsigned int endurance;

	/* How far a block's own limit may be from endurance, either way, in
	 * percent of it, 0 to 100; evenly spread. */
	unsigned int endurance_spread;

	/* The program and the erase of this number, each counted from 1 since
	 * manufacture, fails and takes its block with it. 0: none. */
	unsigned long long program_fail_at;
	unsigned long long erase_fail_at;

	/* Chance of each program and erase to do so, in billionths. */
	unsigned int program_fail_ppb;
	unsigned int erase_fail_ppb;

	/* Bits of a programmed page that read wrong, in 10^12 bits: of any
	 * page; more of them at the rated endurance, in proportion to wear;
	 * more for each array read of the block since its erase. */
	unsigned int flip_ppt;
	unsigned int flip_wear_ppt;
	unsigned int flip_read_ppt;

	/* Power goes in this program or erase, numbered since manufacture.
	 * 0: never. */
	unsigned long long power_cut_at;
};

/* A bit that was set wrong on purpose, until its block is erased. */
struct stored_flip {
	u32 page;
	u32 bit;
};

#define STORED_FLIPS_MAX 1024

/* What has happened so far that decides what happens next. */
struct faults {
	/* Programs and erases since manufacture that reached the array. */
	u64 programs;
	u64 erases;

	/* Bits that user space flipped (fault_flip_bit(), raw programs). */
	struct stored_flip stored[STORED_FLIPS_MAX];
	u32 stored_count;

	/* The power cut that is due, from power_cut_at or set since. */
	u64 power_cut_at;
};

#define FLIPS_MAX 512

/* The wrong bits of the page in the register: bit numbers, each once. */
struct flips {
	u32 bit[FLIPS_MAX];
	u32 count;
	bool garbled; /* no ECC makes sense of the page */
};

/* How an ECC engine lays its work out, for chip_ecc_page(). */
struct chip_ecc {
	unsigned int step;     /* data bytes of a step */
	unsigned int strength; /* bits that it corrects in a step */
	unsigned int bytes;    /* check bytes of a step */
	unsigned int check_at; /* first column of the check bytes; they follow
				* one another to the end of the page; 0: not
				* together, and then taken as sound */
};

/* What became of a program or an erase. */
enum fault { FAULT_NONE, FAULT_FAIL, FAULT_CUT };

struct chip;

/* NULL, or the sentence that says why not. */
const char *faults_check(const struct fault_params *params, u32 blocks);

/* Mark the blocks that leave the factory bad. */
void faults_init(struct chip *chip);

/* Decide about the present program or erase of a block: chip->op_seq has its
 * number already, and wear includes the erase. */
enum fault fault_on_program(struct chip *chip, u32 block, bool has_data);
enum fault fault_on_erase(struct chip *chip, u32 block);

/* Erases that this block stands; ~0: any number. */
u32 fault_endurance_of(const struct chip *chip, u32 block);

/* A program stopped half way: leaves cells between what they were and what
 * they were to be. False if it got nowhere or all the way; then *done tells
 * which. Likewise an erase of one page. */
bool fault_tear_program(const struct chip *chip, u8 *cells, const u8 *wanted,
			bool *done);
bool fault_tear_erase(const struct chip *chip, u32 page, u8 *cells, bool *done);

/* Find the wrong bits of a page and set them so in the register. */
void flips_apply(struct chip *chip, u32 page);

/* Make a bit of a page read wrong (or right again) until the next erase.
 * -EINVAL: no such bit; -ENOSPC: too many. */
int fault_flip_bit(struct chip *chip, u32 page, u32 bit);
bool fault_bit_is_flipped(const struct chip *chip, u32 page, u32 bit);
void faults_forget_block(struct chip *chip, u32 block);

/*
 * An ECC engine at work on copies of the register's data and spare area: each
 * step with up to strength wrong bits is put right. Returns the most bits
 * corrected in a step; adds to *corrected bits and *failed steps.
 */
unsigned int chip_ecc_page(struct chip *chip, const struct chip_ecc *ecc,
			   u8 *data, u8 *oob, u32 *corrected, u32 *failed);

#endif
