// SPDX-License-Identifier: GPL-2.0-or-later
/* Numbers drawn; see draw.h. */
#include <math.h>

#include "draws/draw.h"
#include "draws/exact.h"
#include "payload.h"

#define UNIT_BITS 52

void draw_reset(struct draw *draw)
{
	draw->turn = (uint64_t)draw->a;
	draw->left = 0;
}

/* Above 0 and below 1: the upper bits of a number of the stream, and a half. */
static double unit(uint64_t *random)
{
	uint64_t bits = payload_draw(random) >> (64 - UNIT_BITS);

	return ldexp((double)bits + 0.5, -UNIT_BITS);
}

/* 0 to @count - 1. */
static uint64_t below(uint64_t count, uint64_t *random)
{
	uint64_t drawn = (uint64_t)floor(unit(random) * (double)count);

	return drawn < count ? drawn : count - 1;
}

static uint64_t whole(double value)
{
	if (value <= 0)
		return 0;
	if (value >= DRAW_MOST)
		return DRAW_MOST;
	return (uint64_t)floor(value + 0.5);
}

static uint64_t by_turns(struct draw *draw)
{
	uint64_t value = draw->turn;

	draw->turn = value < (uint64_t)draw->b ? 2 * value : (uint64_t)draw->a;
	return value;
}

static uint64_t deal(struct draw *draw, uint64_t *random)
{
	struct draw_bin *bin = draw->bins;
	uint64_t at;

	if (!draw->left) {
		for (size_t i = 0; i < draw->count; i++) {
			bin[i].left = bin[i].count;
			draw->left += bin[i].count;
		}
	}
	for (at = below(draw->left, random); at >= bin->left; bin++)
		at -= bin->left;
	bin->left--;
	draw->left--;
	return bin->value;
}

/* A product by itself, which no sum may join; as in exact.c. */
static double scaled(double value, double by)
{
	volatile double product = value * by;

	return product;
}

uint64_t draw_next(struct draw *draw, uint64_t *random)
{
	switch (draw->kind) {
	case DRAW_NUMBER:
		break;
	case DRAW_NORM:
		return whole(draw->a +
			     scaled(exact_normal(unit(random)), draw->b));
	case DRAW_UNIFORM:
		return (uint64_t)draw->a +
		       below((uint64_t)(draw->b - draw->a) + 1, random);
	case DRAW_LOGNORMAL:
		return whole(scaled(
			exact_exp(scaled(exact_normal(unit(random)), draw->b)),
			draw->a));
	case DRAW_POW2:
		return by_turns(draw);
	case DRAW_TABLE:
		return deal(draw, random);
	}
	return (uint64_t)draw->a;
}
