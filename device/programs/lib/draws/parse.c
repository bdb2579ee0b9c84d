// SPDX-License-Identifier: GPL-2.0-or-later
/* The grammar of distributions; see draw.h. */
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "diag.h"
#include "draws/draw.h"

#define DIGITS	    "0123456789"
#define NUMBER_MOST 40	 /* characters of a number */
#define BINS_MOST   1000 /* of a table */
#define COUNT_MOST  1000000000u
#define SIGMA_MOST  10
#define POW2_MOST   39 /* 2 to the power of it is below DRAW_MOST */
#define BLANKS	    " \t"

static const struct {
	const char *name;
	enum draw_kind kind;
	const char *usage;
} kinds[] = {
	{"norm", DRAW_NORM, "norm(MEAN,DEVIATION)"},
	{"uniform", DRAW_UNIFORM, "uniform(LEAST,MOST)"},
	{"lognormal", DRAW_LOGNORMAL, "lognormal(MEDIAN,SIGMA)"},
	{"pow2", DRAW_POW2, "pow2(LEAST,MOST)"},
	{"table", DRAW_TABLE, "table(SIZE:COUNT,SIZE:COUNT,...)"},
};

#define KINDS (sizeof(kinds) / sizeof(*kinds))

/* Go past blanks, and past @c if it is next; whether it was. */
static bool next_is(const char **at, char c)
{
	*at += strspn(*at, BLANKS);
	if (**at != c)
		return false;
	if (c)
		++*at;
	return true;
}

/* A number at *@at: digits, and a fraction by choice. NULL, or what is wrong.
 */
static char *number(const char **at, double *value, bool whole)
{
	char token[NUMBER_MOST + 1];
	size_t length;

	*at += strspn(*at, BLANKS);
	if (**at == '-')
		return text("a number is negative at '%s'", *at);
	length = strspn(*at, DIGITS);
	if (!length)
		return text("expected a number at '%s'", *at);
	if ((*at)[length] == '.') {
		size_t fraction = strspn(*at + length + 1, DIGITS);

		if (!fraction)
			return text("expected digits after the point at '%s'",
				    *at);
		if (whole)
			return text("expected a whole number at '%s'", *at);
		length += 1 + fraction;
	}
	if (length > NUMBER_MOST)
		return text("a number has over %d characters at '%s'",
			    NUMBER_MOST, *at);
	memcpy(token, *at, length);
	token[length] = '\0';
	*value = strtod(token, NULL);
	if (*value > DRAW_MOST)
		return text("a number is over %llu at '%s'",
			    (unsigned long long)DRAW_MOST, *at);
	*at += length;
	return NULL;
}

static bool power_of_two(double value)
{
	uint64_t n = (uint64_t)value;

	return n && !(n & (n - 1)) && n <= (uint64_t)1 << POW2_MOST;
}

/* What two numbers of a kind must not be, or NULL. */
static char *pair_mistake(const struct draw *draw)
{
	if (draw->kind == DRAW_LOGNORMAL && draw->a <= 0)
		return text("the median must be above 0");
	if (draw->kind == DRAW_LOGNORMAL && draw->b > SIGMA_MOST)
		return text("sigma must be %d at the most", SIGMA_MOST);
	if (draw->kind == DRAW_POW2 &&
	    (!power_of_two(draw->a) || !power_of_two(draw->b)))
		return text("both must be powers of two");
	if ((draw->kind == DRAW_UNIFORM || draw->kind == DRAW_POW2) &&
	    draw->a > draw->b)
		return text("the first must not be above the second");
	return NULL;
}

static char *parse_pair(struct draw *draw, const char **at)
{
	bool whole = draw->kind == DRAW_UNIFORM || draw->kind == DRAW_POW2;
	char *wrong = number(at, &draw->a, whole);

	if (!wrong && !next_is(at, ','))
		wrong = text("expected a comma at '%s'", *at);
	if (!wrong)
		wrong = number(at, &draw->b, whole);
	return wrong ? wrong : pair_mistake(draw);
}

static char *parse_bin(struct draw *draw, const char **at)
{
	double value, count;
	char *wrong = number(at, &value, true);

	if (wrong)
		return wrong;
	if (!next_is(at, ':'))
		return text("expected a colon and a count at '%s'", *at);
	wrong = number(at, &count, true);
	if (wrong)
		return wrong;
	if (count < 1 || count > COUNT_MOST)
		return text("a count must be 1 to %u", COUNT_MOST);
	if (draw->count == BINS_MOST)
		return text("over %d sizes", BINS_MOST);
	for (size_t i = 0; i < draw->count; i++)
		if (draw->bins[i].value == (uint64_t)value)
			return text("size %.0f is there twice", value);
	draw->bins[draw->count].value = (uint64_t)value;
	draw->bins[draw->count++].count = (uint64_t)count;
	return NULL;
}

static char *parse_table(struct draw *draw, const char **at)
{
	draw->bins = allocate(BINS_MOST, sizeof(*draw->bins), "a table");
	do {
		char *wrong = parse_bin(draw, at);

		if (wrong)
			return wrong;
	} while (next_is(at, ','));
	return NULL;
}

static char *parse_kind(struct draw *draw, const char *given, size_t kind)
{
	const char *at = given + strlen(kinds[kind].name);
	char *wrong = NULL;

	draw->kind = kinds[kind].kind;
	if (!next_is(&at, '('))
		wrong = text("expected a parenthesis at '%s'", at);
	else if (draw->kind == DRAW_TABLE)
		wrong = parse_table(draw, &at);
	else
		wrong = parse_pair(draw, &at);
	if (!wrong && !next_is(&at, ')'))
		wrong = text("expected ')' at '%s'", at);
	if (!wrong && !next_is(&at, '\0'))
		wrong = text("nothing may follow: '%s'", at);
	return wrong;
}

static size_t kind_of(const char *at)
{
	size_t length = 0, kind = 0;

	while (isalnum((unsigned char)at[length]))
		length++;
	while (kind < KINDS && (strlen(kinds[kind].name) != length ||
				memcmp(kinds[kind].name, at, length) != 0))
		kind++;
	return kind;
}

char *draw_parse(struct draw *draw, const char *given)
{
	const char *at = given + strspn(given, BLANKS);
	size_t kind = kind_of(at);
	char *wrong, *whole;

	*draw = (struct draw){.kind = DRAW_NUMBER};
	if (kind < KINDS) {
		wrong = parse_kind(draw, at, kind);
	} else {
		wrong = number(&at, &draw->a, true);
		if (!wrong && !next_is(&at, '\0'))
			wrong = text("nothing may follow: '%s'", at);
	}
	if (!wrong) {
		draw_reset(draw);
		return NULL;
	}
	whole = text("%s; give %s", wrong,
		     kind < KINDS ? kinds[kind].usage
				  : "a whole number, norm(MEAN,DEVIATION), "
				    "uniform(LEAST,MOST), "
				    "lognormal(MEDIAN,SIGMA), pow2(LEAST,MOST) "
				    "or table(SIZE:COUNT,...)");
	free(wrong);
	draw_free(draw);
	return whole;
}

void draw_free(struct draw *draw)
{
	free(draw->bins);
	*draw = (struct draw){.kind = DRAW_NUMBER};
}

int draw_take(struct draw *draw, const char *option, const char *value)
{
	char *wrong;

	draw_free(draw);
	wrong = draw_parse(draw, value);
	if (!wrong)
		return 0;
	fail("--%s '%s': %s", option, value, wrong);
	free(wrong);
	return -1;
}
