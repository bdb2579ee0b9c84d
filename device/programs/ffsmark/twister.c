// SPDX-License-Identifier: GPL-2.0-or-later
/* The generator of Postmark's choices; see twister.h. */
#include "twister.h"

/* The recurrence joins each word with the next, and with the one 397 on. */
#define REACH	397
#define TWIST	0x9908b0dfu
#define TOP_BIT 0x80000000u

void twister_seed(struct twister *twister, uint32_t seed)
{
	/* Each word is the upper halves of two steps of a linear generator. */
	for (int i = 0; i < TWISTER_WORDS; i++) {
		uint32_t high = seed & 0xffff0000u;

		seed = seed * 69069u + 1;
		twister->word[i] = high | seed >> 16;
		seed = seed * 69069u + 1;
	}
	twister->used = TWISTER_WORDS;
}

static void next_batch(struct twister *twister)
{
	uint32_t *word = twister->word;

	for (int i = 0; i < TWISTER_WORDS; i++) {
		uint32_t next = word[(i + 1) % TWISTER_WORDS];
		uint32_t joined = (word[i] & TOP_BIT) | (next & ~TOP_BIT);

		word[i] = word[(i + REACH) % TWISTER_WORDS] ^ joined >> 1 ^
			  (joined & 1 ? TWIST : 0);
	}
	twister->used = 0;
}

void twister_skip(struct twister *twister, uint64_t draws)
{
	while (draws) {
		uint64_t left;

		if (twister->used == TWISTER_WORDS)
			next_batch(twister);
		left = TWISTER_WORDS - twister->used;
		if (left > draws)
			left = draws;
		twister->used += (unsigned int)left;
		draws -= left;
	}
}

uint32_t twister_draw(struct twister *twister)
{
	uint32_t bits;

	if (twister->used == TWISTER_WORDS)
		next_batch(twister);
	bits = twister->word[twister->used++];
	bits ^= bits >> 11;
	bits ^= bits << 7 & 0x9d2c5680u;
	bits ^= bits << 15 & 0xefc60000u;
	return bits ^ bits >> 18;
}
