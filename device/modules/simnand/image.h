/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A chip in a file, so that an aged chip is made once and used again: cells,
 * page states, wear, bad blocks, planted errors, and the number of the last
 * operation. Future faults are not in it: they follow from the parameters at
 * load time.
 *
 *   struct image_header
 *   for each block that is not as new, in ascending order:
 *     struct image_block, then its payload:
 *       flips x { u32 page, u32 bit }
 *       and unless pages is 0:
 *         u16 state of each page
 *         data and spare area of each page, as nanddump --oob has them
 *   struct image_end
 *
 * All in the machine's byte order. src/nandlab/flash/chip/image.py reads and
 * writes it; it also converts it to and from a plain nanddump file with a JSON
 * sidecar.
 */
#ifndef SIMNAND_IMAGE_H
#define SIMNAND_IMAGE_H

#include "chip.h"

#define IMAGE_MAGIC	  0x474d494e /* "NIMG" */
#define IMAGE_BLOCK_MAGIC 0x4b4c424e /* "NBLK" */
#define IMAGE_END_MAGIC	  0x444e454e /* "NEND" */
#define IMAGE_VERSION	  1

struct image_header {
	u32 magic;
	u16 version;
	u16 header_bytes;
	u32 writesize;
	u32 oobsize;
	u32 erasesize;
	u32 blocks;
	u64 op_seq;
	u64 programs; /* that reached the array since manufacture */
	u64 erases;
	u64 reserved;
	u32 reserved2;
	u32 crc; /* CRC-32 of this struct with 0 here */
};

struct image_block {
	u32 magic;
	u32 index;
	u32 wear;
	u32 disturb;
	u32 flags;
	u32 pages; /* all of the block's, or 0: all erased */
	u32 flips;
	u32 crc; /* CRC-32 of this struct with 0 here and of its payload */
};

struct image_end {
	u32 magic;
	u32 records; /* number of struct image_block */
	u64 op_seq;  /* differs from the header if the chip changed meanwhile */
	u32 reserved;
	u32 crc; /* CRC-32 of this struct with 0 here */
};

_Static_assert(sizeof(struct image_header) == 64, "image header layout");
_Static_assert(sizeof(struct image_block) == 32, "image block layout");
_Static_assert(sizeof(struct image_end) == 24, "image end layout");

/* Upper limit in bytes of every part of the chip's image. */
size_t image_part_max(const struct chip *chip);

/* Whether a part has no bytes: that of a block that is as new. */
bool image_part_empty(const struct chip *chip, u32 part);

/* Write one part of an image. Parts are numbered from 0 to blocks + 1: header,
 * blocks, end. Returns its size in bytes; 0 for a block that is as new. */
size_t image_put(struct chip *chip, u32 part, u8 *to);

/* Fills the buffer. Returns the bytes read; fewer than asked for at the end. */
typedef size_t (*image_read_fn)(void *context, void *to, size_t bytes);

/*
 * Load an image into a chip that chip_init() has just made. NULL, or a sentence
 * that says why not; the chip is then unusable. Bad blocks are those of the
 * image, not those of the parameters.
 */
const char *image_load(struct chip *chip, image_read_fn read, void *context);

#endif
