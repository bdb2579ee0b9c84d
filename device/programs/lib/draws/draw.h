/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers drawn from a distribution: how many files, how many folders, how
 * large. docs/filetree.md has the grammar, nandlab/catalog/distributions.py has
 * it in Python: both accept and refuse the same texts.
 *
 * A draw is a whole number, the nearest to what the distribution gives, cut at
 * 0 and DRAW_MOST. norm, uniform, lognormal and table take one number of the
 * random stream for each draw; a plain number and pow2 take none. Only +, -, *,
 * / and sqrt touch a draw, each rounded by itself: every machine draws the
 * same.
 */
#ifndef LIB_DRAW_H
#define LIB_DRAW_H

#include <stddef.h>
#include <stdint.h>

#define DRAW_MOST 1000000000000u

enum draw_kind {
	DRAW_NUMBER,	/* a */
	DRAW_NORM,	/* mean a, deviation b */
	DRAW_UNIFORM,	/* each whole number from a to b alike */
	DRAW_LOGNORMAL, /* median a, deviation b of the logarithm */
	DRAW_POW2,	/* the powers of two from a to b by turns */
	DRAW_TABLE,	/* dealt from the bins without replacement */
};

struct draw_bin {
	uint64_t value;
	uint64_t count; /* in the whole table */
	uint64_t left;	/* not dealt yet; all dealt: all are put back */
};

struct draw {
	enum draw_kind kind;
	double a, b;
	uint64_t turn; /* of pow2: the value of the next draw */
	uint64_t left; /* of table: the sum of the bins' */
	struct draw_bin *bins;
	size_t count; /* of bins */
};

/* NULL, or what is wrong with @text and what to give, for the caller to free.
 */
char *draw_parse(struct draw *draw, const char *text);
void draw_free(struct draw *draw);

/* An option's value in the place of what @draw was: 0, or -1 after a message.
 */
int draw_take(struct draw *draw, const char *option, const char *value);

/* Back to the first draw. */
void draw_reset(struct draw *draw);

/* The next draw, by the stream whose state is @random (payload_draw()). */
uint64_t draw_next(struct draw *draw, uint64_t *random);

#endif
