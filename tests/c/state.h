/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a chip of large pages is in the very state that it was in. */
#ifndef TESTS_STATE_H
#define TESTS_STATE_H

#include "array.h"
#include "drive.h"
#include "image.h"

/* CRC-32 of all that an image of the chip holds. */
static inline u32 whole(struct chip *chip)
{
	u8 *part = malloc(image_part_max(chip));
	u32 crc = 0, i;

	for (i = 0; i < chip->params.blocks + 2; i++)
		crc = shim_crc32(crc, part, image_put(chip, i, part));
	free(part);
	return crc;
}

/* All that operations move in the chip, in parts: a fault is told by the part
 * that it spoils. */
struct state {
	u64 ops, programs, erases, wear;
	u64 pages, data, spare, blocks, flips; /* sums; pages: their states */
};

/* By turns into four sums, for a multiplication waits for the one before it. */
static void add(u64 *sum, const void *from, size_t bytes)
{
	u64 part[4] = {*sum, 1, 2, 3}, word = 0;
	const u8 *at = from;
	size_t i;

	for (i = 0; i < bytes / sizeof(word); i++, at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		part[i % 4] = (part[i % 4] ^ word) * 0x9e3779b97f4a7c15;
		part[i % 4] ^= part[i % 4] >> 32;
	}
	for (i = 0; i < 4; i++) {
		*sum = (*sum ^ part[i]) * 0x9e3779b97f4a7c15;
		*sum ^= *sum >> 32;
	}
}

static void add_block(struct state *state, const struct chip_block *block)
{
	const u32 rest[4] = {block->disturb, block->flags, block->data_pages,
			     block->high};

	state->wear += block->wear;
	add(&state->blocks, &(u64){block->wear}, sizeof(u64));
	add(&state->blocks, rest, sizeof(rest));
}

static struct state state_of(struct chip *chip)
{
	struct state state = {
		.ops = chip->op_seq,
		.programs = chip->faults.programs,
		.erases = chip->faults.erases,
	};
	u8 content[2112];
	u32 i;

	for (i = 0; i < chip->params.blocks; i++)
		add_block(&state, &chip->block[i]);
	for (i = 0; i < chip->faults.stored_count; i++)
		add(&state.flips, &chip->faults.stored[i], sizeof(u64));
	for (i = 0; i < chip->pages; i++) {
		add(&state.pages, &(u64){chip->state[i]}, sizeof(u64));
		page_content(chip, i, content);
		add(&state.data, content, 2048);
		add(&state.spare, content + 2048, 64);
	}
	return state;
}

#define CHECK_STATE(chip, want)                                 \
	do {                                                    \
		struct state now = state_of(chip), then = want; \
		CHECK_EQ(now.ops, then.ops);                    \
		CHECK_EQ(now.programs, then.programs);          \
		CHECK_EQ(now.erases, then.erases);              \
		CHECK_EQ(now.wear, then.wear);                  \
		CHECK_EQ(now.pages, then.pages);                \
		CHECK_EQ(now.data, then.data);                  \
		CHECK_EQ(now.spare, then.spare);                \
		CHECK_EQ(now.blocks, then.blocks);              \
		CHECK_EQ(now.flips, then.flips);                \
	} while (0)

#endif
