/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Mersenne Twister (MT19937; Matsumoto and Nishimura, ACM TOMACS 8(1),
 * 1998) with its seeding of 1999, which is not that of 2002: Postmark since
 * 1.5 draws every choice from it, so the same seed must give the same choices.
 */
#ifndef FFSMARK_TWISTER_H
#define FFSMARK_TWISTER_H

#include <stdint.h>

#define TWISTER_WORDS 624

struct twister {
	uint32_t word[TWISTER_WORDS];
	unsigned int used; /* words of this batch already drawn */
};

void twister_seed(struct twister *twister, uint32_t seed);

/* Pass over @draws numbers. */
void twister_skip(struct twister *twister, uint64_t draws);

/* 32 random bits. */
uint32_t twister_draw(struct twister *twister);

/* A number below @bound. A bound of 0 gives 0 and draws nothing. */
static inline uint64_t twister_below(struct twister *twister, uint64_t bound)
{
	return bound ? twister_draw(twister) % bound : 0;
}

#endif
