// SPDX-License-Identifier: GPL-2.0-or-later
/* Saving and loading a chip: see image.h. Costs no flash time. */
#include "array.h"
#include "image.h"

static size_t states_bytes(const struct chip *chip)
{
	return chip->pages_per_block * sizeof(u16);
}

static size_t cells_bytes(const struct chip *chip)
{
	return (size_t)chip->pages_per_block * chip->page_bytes;
}

size_t image_part_max(const struct chip *chip)
{
	return sizeof(struct image_header) +
	       STORED_FLIPS_MAX * sizeof(struct stored_flip) +
	       states_bytes(chip) + cells_bytes(chip);
}

static size_t put_header(const struct chip *chip, u8 *to)
{
	struct image_header h = {
		.magic = IMAGE_MAGIC,
		.version = IMAGE_VERSION,
		.header_bytes = sizeof(h),
		.writesize = chip->params.writesize,
		.oobsize = chip->params.oobsize,
		.erasesize = chip->params.erasesize,
		.blocks = chip->params.blocks,
		.op_seq = chip->op_seq,
		.programs = chip->faults.programs,
		.erases = chip->faults.erases,
	};

	h.crc = shim_crc32(0, &h, sizeof(h));
	memcpy(to, &h, sizeof(h));
	return sizeof(h);
}

static bool holds_anything(const struct chip *chip, u32 index)
{
	u32 first = index * chip->pages_per_block, i;

	if (chip->block[index].flags & CHIP_FACTORY_BAD)
		return true; /* the marker */
	for (i = 0; i < chip->pages_per_block; i++)
		if (chip->state[first + i])
			return true;
	return false;
}

static bool as_new(const struct chip *chip, u32 index)
{
	const struct chip_block *block = &chip->block[index];

	return !block->wear && !block->disturb && !block->flags &&
	       !holds_anything(chip, index);
}

static size_t put_flips(const struct chip *chip, u32 index, u8 *to)
{
	const struct faults *faults = &chip->faults;
	size_t bytes = 0;
	u32 i;

	for (i = 0; i < faults->stored_count; i++) {
		if (faults->stored[i].page / chip->pages_per_block != index)
			continue;
		memcpy(to + bytes, &faults->stored[i],
		       sizeof(faults->stored[i]));
		bytes += sizeof(faults->stored[i]);
	}
	return bytes;
}

static size_t put_block(struct chip *chip, u32 index, u8 *to)
{
	const struct chip_block *block = &chip->block[index];
	u32 first = index * chip->pages_per_block, i;
	struct image_block h = {
		.magic = IMAGE_BLOCK_MAGIC,
		.index = index,
		.wear = block->wear,
		.disturb = block->disturb,
		.flags = block->flags,
	};
	size_t bytes = sizeof(h);

	if (as_new(chip, index))
		return 0;
	bytes += put_flips(chip, index, to + bytes);
	h.flips = (bytes - sizeof(h)) / sizeof(struct stored_flip);
	if (holds_anything(chip, index)) {
		h.pages = chip->pages_per_block;
		memcpy(to + bytes, &chip->state[first], states_bytes(chip));
		bytes += states_bytes(chip);
		for (i = 0; i < h.pages; i++, bytes += chip->page_bytes)
			page_content(chip, first + i, to + bytes);
	}
	h.crc = shim_crc32(shim_crc32(0, &h, sizeof(h)), to + sizeof(h),
			   bytes - sizeof(h));
	memcpy(to, &h, sizeof(h));
	return bytes;
}

static size_t put_end(const struct chip *chip, u8 *to)
{
	struct image_end end = {
		.magic = IMAGE_END_MAGIC,
		.op_seq = chip->op_seq,
	};
	u32 i;

	for (i = 0; i < chip->params.blocks; i++)
		end.records += !as_new(chip, i);
	end.crc = shim_crc32(0, &end, sizeof(end));
	memcpy(to, &end, sizeof(end));
	return sizeof(end);
}

bool image_part_empty(const struct chip *chip, u32 part)
{
	return part && part <= chip->params.blocks && as_new(chip, part - 1);
}

size_t image_put(struct chip *chip, u32 part, u8 *to)
{
	if (part == 0)
		return put_header(chip, to);
	if (part <= chip->params.blocks)
		return put_block(chip, part - 1, to);
	return put_end(chip, to);
}

struct loader {
	struct chip *chip;
	image_read_fn read;
	void *context;
	u8 *buffer;
	struct image_header header;
	u32 records;
	u32 next; /* the lowest index that the next block may have */
};

#define TRUNCATED "image: truncated"
#define CORRUPT	  "image: corrupt, a checksum is wrong"

static const char *get_header(struct loader *l)
{
	const struct chip_params *p = &l->chip->params;
	struct image_header *h = &l->header;
	u32 crc;

	if (l->read(l->context, h, sizeof(*h)) != sizeof(*h))
		return TRUNCATED;
	if (h->magic != IMAGE_MAGIC || h->header_bytes != sizeof(*h))
		return "image: not an image of a simnand chip";
	if (h->version != IMAGE_VERSION)
		return "image: of another version of the format";
	crc = h->crc;
	h->crc = 0;
	if (crc != shim_crc32(0, h, sizeof(*h)))
		return CORRUPT;
	if (h->writesize != p->writesize || h->oobsize != p->oobsize ||
	    h->erasesize != p->erasesize || h->blocks != p->blocks)
		return "image: of a chip of another geometry";
	return NULL;
}

/* Restore the page states, and the sums that follow from them. */
static const char *set_states(struct chip *chip, u32 index, const u8 *states,
			      const u8 *cells)
{
	struct chip_block *block = &chip->block[index];
	u32 first = index * chip->pages_per_block, i;
	u8 *to;

	for (i = 0; i < chip->pages_per_block; i++) {
		u16 state;

		memcpy(&state, states + i * sizeof(state), sizeof(state));
		if (!state)
			continue;
		to = cells_of(chip, first + i);
		if (!to)
			return "image: no memory for its cells";
		memcpy(to, cells + (size_t)i * chip->page_bytes,
		       chip->page_bytes);
		chip->state[first + i] = state;
		block->data_pages += !!(state & PAGE_HAS_DATA);
		block->high = i + 1;
	}
	return NULL;
}

static const char *set_block(struct chip *chip, const struct image_block *h,
			     const u8 *payload)
{
	struct chip_block *block = &chip->block[h->index];
	struct faults *faults = &chip->faults;
	size_t flips = h->flips * sizeof(struct stored_flip);
	u32 i;

	block->wear = h->wear;
	block->disturb = h->disturb;
	block->flags = h->flags;
	memcpy(&faults->stored[faults->stored_count], payload, flips);
	for (i = 0; i < h->flips; i++) {
		struct stored_flip *flip =
			&faults->stored[faults->stored_count++];

		if (flip->page / chip->pages_per_block != h->index ||
		    flip->bit >= 8 * chip->page_bytes)
			return "image: a wrong bit lies outside its block";
	}
	if (!h->pages)
		return NULL;
	payload += flips;
	return set_states(chip, h->index, payload,
			  payload + states_bytes(chip));
}

static const char *get_block(struct loader *l, struct image_block *h)
{
	struct chip *chip = l->chip;
	size_t payload;
	u32 crc = h->crc;

	if (h->index < l->next || h->index >= chip->params.blocks ||
	    (h->pages && h->pages != chip->pages_per_block) ||
	    h->flips > STORED_FLIPS_MAX - chip->faults.stored_count)
		return CORRUPT;
	payload = h->flips * sizeof(struct stored_flip);
	if (h->pages)
		payload += states_bytes(chip) + cells_bytes(chip);
	if (l->read(l->context, l->buffer, payload) != payload)
		return TRUNCATED;
	h->crc = 0;
	if (crc != shim_crc32(shim_crc32(0, h, sizeof(*h)), l->buffer, payload))
		return CORRUPT;
	l->next = h->index + 1;
	l->records++;
	return set_block(chip, h, l->buffer);
}

static const char *check_end(struct loader *l, struct image_end *end)
{
	u32 crc = end->crc;
	u8 byte;

	end->crc = 0;
	if (crc != shim_crc32(0, end, sizeof(*end)))
		return CORRUPT;
	if (end->op_seq != l->header.op_seq || end->records != l->records)
		return "image: the chip was written while it was saved";
	if (l->read(l->context, &byte, 1))
		return "image: longer than its end";
	return NULL;
}

static const char *get_blocks(struct loader *l)
{
	struct image_block h;
	struct image_end end;
	const char *why;
	size_t left = sizeof(h) - sizeof(end);

	for (;;) {
		if (l->read(l->context, &end, sizeof(end)) != sizeof(end))
			return TRUNCATED;
		if (end.magic == IMAGE_END_MAGIC)
			return check_end(l, &end);
		if (end.magic != IMAGE_BLOCK_MAGIC)
			return CORRUPT;
		memcpy(&h, &end, sizeof(end));
		if (l->read(l->context, (u8 *)&h + sizeof(end), left) != left)
			return TRUNCATED;
		why = get_block(l, &h);
		if (why)
			return why;
	}
}

const char *image_load(struct chip *chip, image_read_fn read, void *context)
{
	struct loader l = {.chip = chip, .read = read, .context = context};
	const char *why = get_header(&l);
	u32 i;

	if (why)
		return why;
	for (i = 0; i < chip->params.blocks; i++)
		chip->block[i].flags = 0;
	l.buffer = shim_zalloc(image_part_max(chip));
	if (!l.buffer)
		return "image: no memory to load it";
	why = get_blocks(&l);
	shim_free(l.buffer);
	chip->op_seq = l.header.op_seq;
	chip->faults.programs = l.header.programs;
	chip->faults.erases = l.header.erases;
	return why;
}
