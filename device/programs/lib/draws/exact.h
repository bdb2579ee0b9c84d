/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions that are the same to the last bit on every machine with IEEE
 * doubles. The C library's log() and exp() are not: it has several of each, and
 * takes the one that suits the processor.
 */
#ifndef LIB_EXACT_H
#define LIB_EXACT_H

/* The natural logarithm of @x above 0, to about 1e-15 of it. */
double exact_log(double x);

/* e to the power of @x, for -700 to 700, to about 1e-15 of it. */
double exact_exp(double x);

/*
 * What a standard normal variable is below with probability @p, above 0 and
 * below 1: Wichura's algorithm AS 241, PPND16 (Applied Statistics 37(3), 1988),
 * to about 1e-15.
 */
double exact_normal(double p);

#endif
