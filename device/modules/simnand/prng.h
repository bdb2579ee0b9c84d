/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random numbers without a state: the same seed, stream and place give the same
 * number, whatever was drawn before. (The mixing steps are those of the
 * public-domain SplitMix64.)
 */
#ifndef SIMNAND_PRNG_H
#define SIMNAND_PRNG_H

#include "shim.h"

/* One stream for each kind of fault. The numbers are part of what a seed
 * means: add new ones at the end. */
enum prng_stream {
	PRNG_FACTORY_COUNT = 1,
	PRNG_FACTORY_RATE,
	PRNG_ENDURANCE,
	PRNG_PROGRAM_FAIL,
	PRNG_ERASE_FAIL,
	PRNG_FLIP_PRESSURE,
	PRNG_FLIP_PLACE,
	PRNG_TEAR_HOW,
	PRNG_TEAR_BITS,
	PRNG_JITTER,
};

static inline u64 prng_mix(u64 x)
{
	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

static inline u64 prng(u64 seed, enum prng_stream stream, u64 where, u64 n)
{
	u64 x = prng_mix(seed ^ (u64)stream << 56);

	return prng_mix(prng_mix(x ^ where) ^ n);
}

/* Uniform from 0 to below - 1; each probability is exact to within 2^-32. */
static inline u32 prng_below(u64 random, u32 below)
{
	return (random >> 32) * below >> 32;
}

#endif
