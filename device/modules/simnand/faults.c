// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Bad blocks, failing operations, worn-out blocks, power cuts: see faults.h.
 * Costs a few multiplications for each program and erase.
 */
#include "array.h"
#include "prng.h"

const char *faults_check(const struct fault_params *p, u32 blocks)
{
	if (p->bad_blocks > blocks / 2)
		return "bad_blocks must be at most half of blocks";
	if (p->bad_block_ppm > 500000)
		return "bad_block_ppm must be at most 500000";
	if (p->endurance_spread > 100)
		return "endurance_spread must be from 0 to 100 percent";
	if (p->endurance > 1000000000)
		return "endurance must be at most 10^9";
	if (p->program_fail_ppb > 1000000000 || p->erase_fail_ppb > 1000000000)
		return "a rate of failure must be at most 10^9 ppb";
	if (p->flip_wear_ppt && !p->endurance)
		return "flip_wear_ppt needs an endurance";
	if (p->flip_day_wear_ppt && !p->endurance)
		return "flip_day_wear_ppt needs an endurance";
	return NULL;
}

void faults_init(struct chip *chip)
{
	const struct fault_params *p = &chip->params.faults;
	u32 blocks = chip->params.blocks, left, b;
	u64 n = 0;

	chip->faults.power_cut_at = p->power_cut_at;
	for (left = p->bad_blocks; left; n++) {
		b = 1 + prng_below(prng(p->seed, PRNG_FACTORY_COUNT, 0, n),
				   blocks - 1);
		if (chip->block[b].flags & CHIP_FACTORY_BAD)
			continue;
		chip->block[b].flags |= CHIP_FACTORY_BAD;
		left--;
	}
	for (b = 1; p->bad_block_ppm && b < blocks; b++)
		if (prng_below(prng(p->seed, PRNG_FACTORY_RATE, b, 0),
			       1000000) < p->bad_block_ppm)
			chip->block[b].flags |= CHIP_FACTORY_BAD;
}

u32 fault_endurance_of(const struct chip *chip, u32 block)
{
	const struct fault_params *p = &chip->params.faults;
	u32 reach = shim_div((u64)p->endurance * p->endurance_spread, 100);

	if (!p->endurance)
		return ~0u;
	return p->endurance - reach +
	       prng_below(prng(p->seed, PRNG_ENDURANCE, block, 0),
			  2 * reach + 1);
}

static bool struck(const struct chip *chip, enum prng_stream stream, u64 n,
		   u32 ppb)
{
	return ppb && prng_below(prng(chip->params.faults.seed, stream, n, 0),
				 1000000000) < ppb;
}

/* A power cut strikes any block. Otherwise, a block that has failed once fails
 * again. */
static enum fault judge(struct chip *chip, u32 block, bool fails)
{
	u32 *flags = &chip->block[block].flags;

	if (fails)
		*flags |= CHIP_WORN_OUT;
	if (chip->op_seq == chip->faults.power_cut_at)
		return FAULT_CUT;
	return *flags & (CHIP_WORN_OUT | CHIP_FACTORY_BAD) ? FAULT_FAIL
							   : FAULT_NONE;
}

enum fault fault_on_program(struct chip *chip, u32 block, bool has_data)
{
	const struct fault_params *p = &chip->params.faults;
	u64 n = ++chip->faults.programs;
	bool fails = n == p->program_fail_at ||
		     struck(chip, PRNG_PROGRAM_FAIL, n, p->program_fail_ppb);
	enum fault fault = judge(chip, block, fails);

	if (fault == FAULT_FAIL && !fails && !has_data &&
	    chip->block[block].flags == CHIP_WORN_OUT)
		return FAULT_NONE;
	return fault;
}

enum fault fault_on_erase(struct chip *chip, u32 block)
{
	const struct fault_params *p = &chip->params.faults;
	u64 n = ++chip->faults.erases;

	return judge(
		chip, block,
		n == p->erase_fail_at ||
			struck(chip, PRNG_ERASE_FAIL, n, p->erase_fail_ppb) ||
			chip->block[block].wear >
				fault_endurance_of(chip, block));
}

/*
 * How much of the broken operation was done, in 256ths of its bits: one time in
 * four nothing, one in four everything (only its success was not reported),
 * else anything in between.
 */
static u32 progress(const struct chip *chip)
{
	u64 how =
		prng(chip->params.faults.seed, PRNG_TEAR_HOW, chip->op_seq, 0);

	switch (how & 3) {
	case 0:
		return 0;
	case 1:
		return 256;
	default:
		return 1 + prng_below(how, 255);
	}
}

/* A byte whose bits are each 1 with a probability of chance / 256. */
static u8 mask(const struct chip *chip, u64 where, u32 i, u32 chance)
{
	u64 random = prng(chip->params.faults.seed, PRNG_TEAR_BITS,
			  chip->op_seq ^ where << 32, i);
	u8 bits = 0;
	int bit;

	for (bit = 0; bit < 8; bit++)
		if ((u8)(random >> 8 * bit) < chance)
			bits |= 1 << bit;
	return bits;
}

bool fault_tear_program(const struct chip *chip, u8 *cells, const u8 *wanted,
			bool *done)
{
	u32 got = progress(chip), i;

	*done = got == 256;
	if (!got)
		return false;
	for (i = 0; i < chip->page_bytes; i++)
		cells[i] &= wanted[i] | (u8)~mask(chip, 0, i, got);
	return !*done;
}

bool fault_tear_erase(const struct chip *chip, u32 page, u8 *cells, bool *done)
{
	u32 got = progress(chip), i;

	*done = got == 256;
	if (!got || *done)
		return false;
	for (i = 0; i < chip->page_bytes; i++)
		cells[i] |= mask(chip, page, i, got);
	return true;
}
