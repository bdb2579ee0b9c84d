// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Bits that read wrong. Between two erases, the wrong bits of a page are the
 * points of a Poisson process over the error rate: as the rate grows with the
 * block's reads and the page's days (or an image is loaded with a higher one),
 * more appear, and none goes away before the erase. The cells keep the true
 * data, so the ECC engine's verdict is exact. If a rate is set, a page read
 * costs a logarithm, and another for each wrong bit; else nothing.
 */
#include "array.h"
#include "prng.h"

#define BITS_OF_RATE 1000000000000ULL

/* -log2(x / 2^64), in units of 2^-32. */
static u64 minus_log2(u64 x)
{
	u64 result = 0, m;
	int bit;

	x |= 1;
	while (!(x >> 63)) {
		x <<= 1;
		result += 1ULL << 32;
	}
	m = x >> 32; /* from 1 to 2, with 31 fraction bits */
	for (bit = 31; bit >= 8; bit--) {
		m = m * m >> 31;
		if (m >> 32) {
			m >>= 1;
			result -= 1ULL << bit;
		}
	}
	return result + (1ULL << 32);
}

/* Distance to the next point of a Poisson process; its mean is BITS_OF_RATE. */
static u64 next_point(u64 seed, u64 where, u32 n)
{
	u64 log2 = minus_log2(prng(seed, PRNG_FLIP_PRESSURE, where, n));

	/* ln 2 / 2^32 x BITS_OF_RATE = 161.3885 */
	return shim_div(log2 * 161388, 1000);
}

/* A rate at the rated endurance, at this block's wear. */
static u64 at_wear(const struct fault_params *p, const struct chip_block *block,
		   u32 rate)
{
	return rate ? shim_div((u64)rate * block->wear, p->endurance) : 0;
}

/* Wrong bits to expect per 10^12 bits of this page; at most one bit in ten. */
static u64 error_rate(const struct chip *chip, const struct chip_block *block,
		      u32 page)
{
	const struct fault_params *p = &chip->params.faults;
	u64 rate = p->flip_ppt + (u64)p->flip_read_ppt * block->disturb;

	rate += at_wear(p, block, p->flip_wear_ppt);
	if (chip->born)
		rate += (p->flip_day_ppt +
			 at_wear(p, block, p->flip_day_wear_ppt)) *
			(chip->days - chip->born[page]);
	return rate < BITS_OF_RATE / 10 ? rate : BITS_OF_RATE / 10;
}

/* The bad block marker always reads right: drivers take a majority of its
 * bits. */
static bool is_marker(const struct chip *chip, u32 bit)
{
	u32 byte = bit / 8;

	if (byte < chip->params.writesize)
		return false;
	byte -= chip->params.writesize;
	return small_page(chip) ? byte == 5 : byte < 2;
}

static void add_flip(struct chip *chip, u32 bit)
{
	struct flips *flips = &chip->flips;
	u32 i;

	for (i = 0; i < flips->count; i++)
		if (flips->bit[i] == bit)
			return;
	if (flips->count == FLIPS_MAX) {
		flips->garbled = true;
		return;
	}
	flips->bit[flips->count++] = bit;
	chip->reg[bit / 8] ^= 1 << bit % 8;
}

static void add_random_flips(struct chip *chip, u32 page)
{
	const struct chip_block *block = block_of(chip, page);
	u64 seed = chip->params.faults.seed;
	u64 where = (u64)block->wear << 32 | page;
	u32 bits = 8 * chip->page_bytes, n, bit;
	u64 expected = error_rate(chip, block, page) * bits;
	u64 sum = 0;

	for (n = 0; n < 2 * FLIPS_MAX; n++) {
		sum += next_point(seed, where, n);
		if (sum > expected)
			break;
		bit = prng_below(prng(seed, PRNG_FLIP_PLACE, where, n), bits);
		if (!is_marker(chip, bit))
			add_flip(chip, bit);
	}
}

void flips_apply(struct chip *chip, u32 page)
{
	const struct fault_params *p = &chip->params.faults;
	const struct faults *faults = &chip->faults;
	u32 i;

	chip->flips.count = 0;
	chip->flips.garbled = chip->state[page] & PAGE_GARBLED;
	if (!chip->state[page])
		return;
	if (p->flip_ppt || p->flip_wear_ppt || p->flip_read_ppt || chip->born)
		add_random_flips(chip, page);
	for (i = 0; i < faults->stored_count; i++)
		if (faults->stored[i].page == page)
			add_flip(chip, faults->stored[i].bit);
	chip->counts.flipped_bits += chip->flips.count;
}

int faults_age(struct chip *chip, u32 days, u32 reads)
{
	u32 before, b;

	if (days > DAYS_MAX - chip->days)
		return -ERANGE;
	chip->days += days;
	chip->reg_row = CHIP_NO_PAGE;
	for (b = 0; b < chip->params.blocks; b++) {
		before = chip->block[b].disturb;
		if (chip->block[b].high)
			chip->block[b].disturb =
				reads < ~0u - before ? before + reads : ~0u;
	}
	return 0;
}

static void remove_stored(struct faults *faults, u32 i)
{
	faults->stored[i] = faults->stored[--faults->stored_count];
}

/* Index of a stored flip, or stored_count. */
static u32 find_stored(const struct faults *faults, u32 page, u32 bit)
{
	u32 i;

	for (i = 0; i < faults->stored_count; i++)
		if (faults->stored[i].page == page &&
		    faults->stored[i].bit == bit)
			break;
	return i;
}

bool fault_bit_is_flipped(const struct chip *chip, u32 page, u32 bit)
{
	return find_stored(&chip->faults, page, bit) <
	       chip->faults.stored_count;
}

int fault_flip_bit(struct chip *chip, u32 page, u32 bit)
{
	struct faults *faults = &chip->faults;
	u32 i;

	if (page >= chip->pages || bit >= 8 * chip->page_bytes ||
	    !chip->state[page])
		return -EINVAL;
	chip->reg_row = CHIP_NO_PAGE;
	i = find_stored(faults, page, bit);
	if (i < faults->stored_count) {
		remove_stored(faults, i);
		return 0;
	}
	if (faults->stored_count == STORED_FLIPS_MAX)
		return -ENOSPC;
	faults->stored[faults->stored_count].page = page;
	faults->stored[faults->stored_count++].bit = bit;
	return 0;
}

void faults_forget_block(struct chip *chip, u32 block)
{
	struct faults *faults = &chip->faults;
	u32 i = 0;

	while (i < faults->stored_count)
		if (faults->stored[i].page / chip->pages_per_block == block)
			remove_stored(faults, i);
		else
			i++;
}

/* Number of wrong bits in a range of the page's bytes. */
static u32 count_flips(const struct flips *flips, u32 from, u32 bytes)
{
	u32 i, n = 0;

	for (i = 0; i < flips->count; i++)
		n += flips->bit[i] / 8 - from < bytes;
	return n;
}

static void correct(const struct flips *flips, u32 from, u32 bytes, u8 *copy)
{
	u32 i, at;

	for (i = 0; i < flips->count; i++) {
		at = flips->bit[i] / 8 - from;
		if (at < bytes)
			copy[at] ^= 1 << flips->bit[i] % 8;
	}
}

static unsigned int correct_step(struct chip *chip, const struct chip_ecc *ecc,
				 u32 step, u8 *data, u8 *oob, u32 *failed)
{
	u32 from = step * ecc->step;
	u32 check_bytes = ecc->check_at ? ecc->bytes : 0;
	u32 check = ecc->check_at + step * check_bytes;
	u32 wrong = count_flips(&chip->flips, from, ecc->step) +
		    count_flips(&chip->flips, check, check_bytes);

	if (wrong > ecc->strength) {
		(*failed)++;
		return 0;
	}
	correct(&chip->flips, from, ecc->step, data + from);
	correct(&chip->flips, check, check_bytes,
		oob + (check - chip->params.writesize));
	return wrong;
}

unsigned int chip_ecc_page(struct chip *chip, const struct chip_ecc *ecc,
			   u8 *data, u8 *oob, u32 *corrected, u32 *failed)
{
	u32 steps = chip->params.writesize / ecc->step, step, wrong, bad = 0;
	u32 most = 0, sum = 0;

	if (chip->flips.garbled) {
		bad = steps;
		steps = 0;
	}
	for (step = 0; chip->flips.count && step < steps; step++) {
		wrong = correct_step(chip, ecc, step, data, oob, &bad);
		most = wrong > most ? wrong : most;
		sum += wrong;
	}
	chip->counts.ecc_corrected += sum;
	chip->counts.ecc_failed += bad;
	chip->counts.ecc_failed_pages += !!bad;
	*corrected += sum;
	*failed += bad;
	return most;
}
