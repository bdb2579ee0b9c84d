// SPDX-License-Identifier: GPL-2.0-or-later
/* The data that workloads write; see payload.h. */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "diag.h"
#include "payload.h"

uint64_t payload_draw(uint64_t *state)
{
	uint64_t mixed = *state += 0x9e3779b97f4a7c15u;

	mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
	mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
	return mixed ^ mixed >> 31;
}

const char *const payload_names[] = {"random", "postmark", NULL};

/* Bits of a draw that give a byte, how many values it has, and the least. */
static const struct {
	unsigned int bits, values, least;
} kinds[] = {
	[PAYLOAD_RANDOM] = {8, 256, 0},
	[PAYLOAD_POSTMARK] = {16, 95, 32},
};

/* All bits of a draw as bytes, the lowest first, as draw_period() takes them.
 */
static void draw_bytes(unsigned char *period, uint64_t *seed)
{
	for (size_t i = 0; i < PAYLOAD_PERIOD; i += sizeof(uint64_t)) {
		uint64_t random = htole64(payload_draw(seed));

		memcpy(period + i, &random, sizeof(random));
	}
}

static void draw_period(unsigned char *period, enum payload_kind kind,
			uint64_t *seed)
{
	unsigned int bits = kinds[kind].bits, left = 0;
	uint64_t random = 0;

	for (size_t i = 0; i < PAYLOAD_PERIOD; i++, left -= bits) {
		uint64_t value;

		if (!left) {
			random = payload_draw(seed);
			left = 64;
		}
		value = (random & ((1u << bits) - 1)) * kinds[kind].values;
		period[i] =
			(unsigned char)(kinds[kind].least + (value >> bits));
		random >>= bits;
	}
}

void payload_open(struct payload *payload, enum payload_kind kind,
		  uint64_t seed, double compressibility, size_t largest)
{
	size_t zeros = (size_t)(compressibility * PAYLOAD_PERIOD + 0.5);

	payload->at = 0;
	payload->pool = allocate((unsigned long long)PAYLOAD_REPEAT + largest,
				 1, "the data to write");
	for (size_t at = 0; at < PAYLOAD_REPEAT; at += PAYLOAD_PERIOD) {
		if (kind == PAYLOAD_RANDOM)
			draw_bytes(payload->pool + at, &seed);
		else
			draw_period(payload->pool + at, kind, &seed);
		memset(payload->pool + at + PAYLOAD_PERIOD - zeros, 0, zeros);
	}
	/* The tail repeats the start, so that a read may run over the end. */
	for (size_t at = 0; at < largest; at += PAYLOAD_REPEAT) {
		size_t left = largest - at;

		memcpy(payload->pool + PAYLOAD_REPEAT + at, payload->pool,
		       left < PAYLOAD_REPEAT ? left : PAYLOAD_REPEAT);
	}
}

void payload_close(struct payload *payload)
{
	free(payload->pool);
	payload->pool = NULL;
}

/* The upper half of the product, by its parts of 32 bits. */
uint64_t payload_below(uint64_t count, uint64_t *state)
{
	uint64_t drawn = payload_draw(state);
	uint64_t drawn_low = (uint32_t)drawn, drawn_high = drawn >> 32;
	uint64_t count_low = (uint32_t)count, count_high = count >> 32;
	uint64_t middle =
		drawn_high * count_low + (drawn_low * count_low >> 32);
	uint64_t other = drawn_low * count_high + (uint32_t)middle;

	return drawn_high * count_high + (middle >> 32) + (other >> 32);
}
