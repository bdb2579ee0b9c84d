// SPDX-License-Identifier: GPL-2.0-or-later
/* Functions without the C library's; see exact.h. */
#include <math.h>

#include "draws/exact.h"

#define TERMS	    8
#define LN2	    0.69314718055994530942
#define SQRT_HALF   0.70710678118654752440
#define LOG_TERMS   12
#define EXP_TERMS   18
#define MIDDLE	    0.425    /* farthest from 1/2 that is not a tail */
#define MIDDLE_EDGE 0.180625 /* its square */
#define TAIL_NEAR   1.6
#define TAIL_FAR    5.0

/* Coefficients of a ratio of polynomials, the highest power first. */
struct ratio {
	double over[TERMS], under[TERMS];
};

static const struct ratio middle = {
	{2.5090809287301226727e+3, 3.3430575583588128105e+4,
	 6.7265770927008700853e+4, 4.5921953931549871457e+4,
	 1.3731693765509461125e+4, 1.9715909503065514427e+3,
	 1.3314166789178437745e+2, 3.3871328727963666080e+0},
	{5.2264952788528545610e+3, 2.8729085735721942674e+4,
	 3.9307895800092710610e+4, 2.1213794301586595867e+4,
	 5.3941960214247511077e+3, 6.8718700749205790830e+2,
	 4.2313330701600911252e+1, 1.0},
};

static const struct ratio tail = {
	{7.74545014278341407640e-4, 2.27238449892691845833e-2,
	 2.41780725177450611770e-1, 1.27045825245236838258e+0,
	 3.64784832476320460504e+0, 5.76949722146069140550e+0,
	 4.63033784615654529590e+0, 1.42343711074968357734e+0},
	{1.05075007164441684324e-9, 5.47593808499534494600e-4,
	 1.51986665636164571966e-2, 1.48103976427480074590e-1,
	 6.89767334985100004550e-1, 1.67638483018380384940e+0,
	 2.05319162663775882187e+0, 1.0},
};

static const struct ratio far = {
	{2.01033439929228813265e-7, 2.71155556874348757815e-5,
	 1.24266094738807843860e-3, 2.65321895265761230930e-2,
	 2.96560571828504891230e-1, 1.78482653991729133580e+0,
	 5.46378491116411436990e+0, 6.65790464350110377720e+0},
	{2.04426310338993978564e-15, 1.42151175831644588870e-7,
	 1.84631831751005468180e-5, 7.86869131145613259100e-4,
	 1.48753612908506148525e-2, 1.36929880922735805310e-1,
	 5.99832206555887937690e-1, 1.0},
};

/* A product that a compiler cannot make one rounding with a sum (FMA). */
static double times(double a, double b)
{
	volatile double product = a * b;

	return product;
}

double exact_log(double x)
{
	int exponent;
	double part = frexp(x, &exponent), s, square, sum = 0;

	if (part < SQRT_HALF) {
		part = times(part, 2);
		exponent--;
	}
	/* ln(part) = 2 artanh(s), |s| < 0.172: its series, from the end. */
	s = (part - 1) / (part + 1);
	square = times(s, s);
	for (int i = LOG_TERMS; i >= 0; i--)
		sum = times(sum, square) + 1.0 / (2 * i + 1);
	return times(times(2, s), sum) + times(exponent, LN2);
}

double exact_exp(double x)
{
	double whole = floor(x / LN2 + 0.5);
	double rest = x - times(whole, LN2), sum = 1;

	for (int i = EXP_TERMS; i >= 1; i--)
		sum = 1 + times(sum, rest) / i;
	return ldexp(sum, (int)whole);
}

static double polynomial(const double *terms, double x)
{
	double sum = terms[0];

	for (int i = 1; i < TERMS; i++)
		sum = times(sum, x) + terms[i];
	return sum;
}

static double ratio_at(const struct ratio *ratio, double x)
{
	return polynomial(ratio->over, x) / polynomial(ratio->under, x);
}

double exact_normal(double p)
{
	double q = p - 0.5, r;

	if (fabs(q) <= MIDDLE)
		return times(q, ratio_at(&middle, MIDDLE_EDGE - times(q, q)));
	r = sqrt(-exact_log(q < 0 ? p : 1 - p));
	r = r <= TAIL_FAR ? ratio_at(&tail, r - TAIL_NEAR)
			  : ratio_at(&far, r - TAIL_FAR);
	return q < 0 ? -r : r;
}
