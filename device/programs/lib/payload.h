/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The data that workloads write: pseudo-random, of which a chosen share
 * compresses away.
 *
 * Data comes as a stream of periods of 256 bytes. In each, the last
 * compressibility x 256 bytes are zero and the others are random: over all 256
 * values, which no compressor can shorten, or over those of Postmark, 32 to
 * 126. These hold 6.57 bits a byte, so zlib takes 18 % of them, and LZO
 * nothing. Of values that are not Postmark's, zlib, LZO or zstd bring any 4 KiB
 * of the stream (the unit in which JFFS2 and UBIFS compress) down to about 1 -
 * compressibility of its size.
 *
 * The random bytes repeat after 64 KiB: farther apart than any compressor of
 * those file systems looks back, and small enough to stay in a processor's
 * cache. They come from a generator of their own.
 */
#ifndef LIB_PAYLOAD_H
#define LIB_PAYLOAD_H

#include <stddef.h>
#include <stdint.h>

#define PAYLOAD_PERIOD 256
#define PAYLOAD_REPEAT 65536

/* Which values the random bytes have. */
enum payload_kind { PAYLOAD_RANDOM, PAYLOAD_POSTMARK };

/* Their names, by their numbers; ended by NULL. */
extern const char *const payload_names[];

struct payload {
	unsigned char *pool; /* PAYLOAD_REPEAT bytes, and @largest more */
	size_t at;	     /* position of the stream, below PAYLOAD_REPEAT */
};

/* @largest is the most bytes that one payload_next() will be asked for. */
void payload_open(struct payload *payload, enum payload_kind kind,
		  uint64_t seed, double compressibility, size_t largest);
void payload_close(struct payload *payload);

/* SplitMix64: one addition and three mixing steps for each draw; any seed will
 * do. */
uint64_t payload_draw(uint64_t *state);

/* A number below @count, each alike but for 1 in 2^64. */
uint64_t payload_below(uint64_t count, uint64_t *state);

/* Go to the next period: a new file, or a new part of one, starts there. */
static inline void payload_align(struct payload *payload)
{
	payload->at = (payload->at + PAYLOAD_PERIOD - 1) / PAYLOAD_PERIOD *
		      PAYLOAD_PERIOD % PAYLOAD_REPEAT;
}

/* The next @size bytes of the stream. */
static inline const void *payload_next(struct payload *payload, size_t size)
{
	const void *data = payload->pool + payload->at;

	payload->at = (payload->at + size) % PAYLOAD_REPEAT;
	return data;
}

#endif
