// SPDX-License-Identifier: GPL-2.0-or-later
/* The digest of a tree; see digest.h. */
#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "digest.h"

#define SUM_START  0x9e3779b97f4a7c15u
#define SUM_FACTOR 0xbf58476d1ce4e5b9u

void sum_open(struct sum *sum)
{
	*sum = (struct sum){.value = SUM_START};
}

static uint64_t with_word(uint64_t value, uint64_t word)
{
	value = (value ^ word) * SUM_FACTOR;
	return value ^ value >> 32;
}

static void add_byte(struct sum *sum, unsigned char byte)
{
	sum->word |= (uint64_t)byte << (8 * sum->held);
	if (++sum->held < sizeof(sum->word))
		return;
	sum->value = with_word(sum->value, sum->word);
	sum->word = sum->held = 0;
}

void sum_add(struct sum *sum, const void *data, size_t size)
{
	const unsigned char *at = data, *end = at + size;

	while (sum->held && at < end)
		add_byte(sum, *at++);
	for (; end - at >= (long)sizeof(sum->word); at += sizeof(sum->word)) {
		uint64_t word;

		memcpy(&word, at, sizeof(word));
		sum->value = with_word(sum->value, le64toh(word));
	}
	while (at < end)
		add_byte(sum, *at++);
}

uint64_t sum_close(struct sum *sum)
{
	if (sum->held)
		sum->value = with_word(sum->value, sum->word);
	return sum->value;
}

static void add(struct sha256 *sha, const char *words)
{
	sha256_add(sha, words, strlen(words));
}

static void add_path(struct sha256 *sha, const char *path)
{
	sha256_add(sha, path, strlen(path) + 1);
}

void digest_folder(struct sha256 *sha, const char *path)
{
	add(sha, "d ");
	add_path(sha, path);
}

void digest_file(struct sha256 *sha, const char *path, uint64_t size,
		 uint64_t sum)
{
	char head[64];

	snprintf(head, sizeof(head), "f %" PRIu64 " %016" PRIx64 " ", size,
		 sum);
	add(sha, head);
	add_path(sha, path);
}

void digest_link(struct sha256 *sha, const char *path, const char *target)
{
	add(sha, "l ");
	add_path(sha, path);
	add_path(sha, target);
}

void digest_other(struct sha256 *sha, const char *path)
{
	add(sha, "o ");
	add_path(sha, path);
}
