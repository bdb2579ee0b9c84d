/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A chip in a file, so that an aged one is made once and used again: cells,
 * page states, wear, bad blocks, planted errors, and the number of the last
 * operation. The faults to come are not in it: they follow from the parameters
 * of whoever loads it.
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
 * All in the machine's byte order. src/nandlab/chip/image.py reads and
 * writes it, and a plain nanddump file and a JSON sidecar for people.
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
	u32 records; /* struct image_block that there were */
	u64 op_seq;  /* as in the header, or the chip changed meanwhile */
	u32 reserved;
	u32 crc; /* CRC-32 of this struct with 0 here */
};

_Static_assert(sizeof(struct image_header) == 64, "image header layout");
_Static_assert(sizeof(struct image_block) == 32, "image block layout");
_Static_assert(sizeof(struct image_end) == 24, "image end layout");

/* Bytes that no part of the chip's image exceeds. */
size_t image_part_max(const struct chip *chip);

/* The parts of an image, numbered from 0 to blocks + 1: header, blocks, end.
 * Returns its bytes; 0 for a block that is as new. */
size_t image_put(struct chip *chip, u32 part, u8 *to);

/* Fills the buffer, or returns how far it got. */
typedef size_t (*image_read_fn)(void *context, void *to, size_t bytes);

/*
 * Make a chip just made by chip_init() the one of an image. NULL, or why not
 * in a sentence; the chip is of no use then. Bad blocks are those of the
 * image; the parameters' own are forgotten.
 */
const char *image_load(struct chip *chip, image_read_fn read, void *context);

#endif
