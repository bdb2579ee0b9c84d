// SPDX-License-Identifier: GPL-2.0-or-later
/* SHA-256; see sha.h. */
#include <stdio.h>
#include <string.h>

#include "sha.h"

#define ROUNDS	  64
#define LENGTH_AT 56 /* where the number of bits stands in the last block */

/* Of the fractions of the cube roots of the first 64 primes. */
static const uint32_t constants[ROUNDS] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
	0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
	0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
	0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
	0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
	0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
	0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
	0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t turned(uint32_t word, int bits)
{
	return word >> bits | word << (32 - bits);
}

/* The block's 16 words, and 48 more that follow from them. */
static void expand(uint32_t *words, const unsigned char *block)
{
	for (int i = 0; i < 16; i++, block += 4)
		words[i] = (uint32_t)block[0] << 24 | (uint32_t)block[1] << 16 |
			   (uint32_t)block[2] << 8 | block[3];
	for (int i = 16; i < ROUNDS; i++) {
		uint32_t far = words[i - 15], near = words[i - 2];

		words[i] = words[i - 16] + words[i - 7] +
			   (turned(far, 7) ^ turned(far, 18) ^ far >> 3) +
			   (turned(near, 17) ^ turned(near, 19) ^ near >> 10);
	}
}

static void take_block(struct sha256 *sha, const unsigned char *block)
{
	uint32_t words[ROUNDS], s[8];

	expand(words, block);
	memcpy(s, sha->state, sizeof(s));
	for (int i = 0; i < ROUNDS; i++) {
		uint32_t chosen = (s[4] & s[5]) ^ (~s[4] & s[6]);
		uint32_t most = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
		uint32_t one =
			s[7] + chosen + constants[i] + words[i] +
			(turned(s[4], 6) ^ turned(s[4], 11) ^ turned(s[4], 25));
		uint32_t two = most + (turned(s[0], 2) ^ turned(s[0], 13) ^
				       turned(s[0], 22));

		memmove(s + 1, s, 7 * sizeof(*s));
		s[4] += one;
		s[0] = one + two;
	}
	for (int i = 0; i < 8; i++)
		sha->state[i] += s[i];
}

void sha256_open(struct sha256 *sha)
{
	/* Of the fractions of the square roots of the first 8 primes. */
	static const uint32_t start[8] = {
		0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
		0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
	};

	memcpy(sha->state, start, sizeof(start));
	sha->bytes = 0;
}

void sha256_add(struct sha256 *sha, const void *data, size_t size)
{
	const unsigned char *at = data;

	while (size) {
		size_t held = sha->bytes % SHA256_BLOCK;
		size_t part = SHA256_BLOCK - held;

		if (part > size)
			part = size;
		memcpy(sha->block + held, at, part);
		sha->bytes += part;
		at += part;
		size -= part;
		if (held + part == SHA256_BLOCK)
			take_block(sha, sha->block);
	}
}

void sha256_close(struct sha256 *sha, char hex[SHA256_HEX])
{
	static const unsigned char padding[SHA256_BLOCK] = {0x80};
	uint64_t bits = sha->bytes * 8;
	size_t held = sha->bytes % SHA256_BLOCK;
	unsigned char length[8];

	for (int i = 0; i < 8; i++)
		length[i] = (unsigned char)(bits >> (56 - 8 * i));
	sha256_add(sha, padding,
		   held < LENGTH_AT ? LENGTH_AT - held
				    : SHA256_BLOCK + LENGTH_AT - held);
	sha256_add(sha, length, sizeof(length));
	for (int i = 0; i < 8; i++)
		snprintf(hex + 8 * i, 9, "%08x", sha->state[i]);
}
