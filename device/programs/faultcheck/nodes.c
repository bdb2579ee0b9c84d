// SPDX-License-Identifier: GPL-2.0-or-later
#include "nodes.h"

#include <endian.h>
#include <string.h>

#define ALL_ONES	0xffffffffu
#define FIELD(at)	(1ull << ((at) / 4))

#define JFFS2_MAGIC	0x1985
#define JFFS2_INODE	0xe002
#define JFFS2_DIRENT	0xe001
#define UBIFS_MAGIC	0x06101831u
#define UBIFS_HEAD	24 /* bytes that all nodes begin with */
#define UBI_BYTES	64
#define TAGS_BYTES	16
#define TAGS_CODE_BYTES 12

/* CRC-32 of Ethernet, without the last inversion; first: that of nothing. */
static uint32_t crc32(uint32_t first, const uint8_t *at, size_t count)
{
	int bit;

	while (count--) {
		first ^= *at++;
		for (bit = 0; bit < 8; bit++)
			first = first >> 1 ^ (first & 1 ? 0xedb88320u : 0);
	}
	return first;
}

static uint32_t load_le(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return le32toh(value);
}

static void store_le(uint8_t *at, uint32_t value)
{
	value = htole32(value);
	memcpy(at, &value, sizeof(value));
}

/* JFFS2: a CRC of the first 8 bytes at 8, and one of all before the two words,
 * the node's and its data's CRC, that its head ends with. A name's node has
 * them in the other order. */
static unsigned int jffs2_crc_at(const struct node_kind *kind)
{
	return kind->end;
}

static unsigned int jffs2_crc_of(const struct node_kind *kind)
{
	return kind->type == JFFS2_INODE ? kind->end - 4 : kind->end;
}

static bool is_jffs2(const struct node_kind *kind, const uint8_t *at,
		     size_t room)
{
	return room >= jffs2_crc_of(kind) + 8 &&
	       load_le(at) == (kind->type << 16 | JFFS2_MAGIC) &&
	       load_le(at + 8) == crc32(0, at, 8) &&
	       load_le(at + jffs2_crc_at(kind)) ==
		       crc32(0, at, jffs2_crc_of(kind));
}

static void mend_jffs2(const struct node_kind *kind, uint8_t *at)
{
	store_le(at + 8, crc32(0, at, 8));
	store_le(at + jffs2_crc_at(kind), crc32(0, at, jffs2_crc_of(kind)));
}

/* UBIFS: its length at 16, its type at 20; a CRC at 4 of all behind that. */
static bool is_ubifs(const struct node_kind *kind, const uint8_t *at,
		     size_t room)
{
	size_t size = room >= UBIFS_HEAD ? load_le(at + 16) : 0;

	return size >= kind->end && size <= room &&
	       load_le(at) == UBIFS_MAGIC && at[20] == kind->type &&
	       load_le(at + 4) == crc32(ALL_ONES, at + 8, size - 8);
}

static void mend_ubifs(const struct node_kind *kind, uint8_t *at)
{
	(void)kind;
	store_le(at + 4, crc32(ALL_ONES, at + 8, load_le(at + 16) - 8));
}

/* UBI: a CRC of all before it at the end; numbers have their first byte first.
 */
static bool is_ubi(const struct node_kind *kind, const uint8_t *at, size_t room)
{
	static const uint8_t magic[] = {'U', 'B', 'I'};

	return room >= UBI_BYTES && !memcmp(at, magic, sizeof(magic)) &&
	       at[3] == kind->type &&
	       be32toh(htole32(load_le(at + kind->end))) ==
		       crc32(ALL_ONES, at, kind->end);
}

static void mend_ubi(const struct node_kind *kind, uint8_t *at)
{
	store_le(at + kind->end,
		 le32toh(htobe32(crc32(ALL_ONES, at, kind->end))));
}

/* YAFFS2's code of a byte: bit 0 is its parity, bits 2 to 7 are those of its
 * bits by each digit of their number, 0 and 1. */
static uint8_t column_of(uint8_t byte)
{
	static const uint8_t of_bit[] = {0x55, 0x59, 0x65, 0x69,
					 0x95, 0x99, 0xa5, 0xa9};
	uint8_t column = 0;
	int bit;

	for (bit = 0; bit < 8; bit++)
		if (byte >> bit & 1)
			column ^= of_bit[bit];
	return column;
}

static void code_of_tags(const uint8_t *at, uint8_t *code)
{
	uint32_t line = 0, other = 0, i;
	uint8_t column = 0, byte;

	for (i = 0; i < TAGS_BYTES; i++) {
		byte = column_of(at[i]);
		column ^= byte;
		if (byte & 1) {
			line ^= i;
			other ^= ~i;
		}
	}
	store_le(code, column >> 2 & 0x3f);
	store_le(code + 4, line);
	store_le(code + 8, other);
}

static bool is_yaffs2(const struct node_kind *kind, const uint8_t *at,
		      size_t room)
{
	uint8_t code[TAGS_CODE_BYTES];

	if (room < TAGS_BYTES + TAGS_CODE_BYTES)
		return false;
	code_of_tags(at, code);
	/* three bytes of the first word are nobody's */
	return at[kind->end] == code[0] &&
	       !memcmp(at + kind->end + 4, code + 4, TAGS_CODE_BYTES - 4);
}

static void mend_yaffs2(const struct node_kind *kind, uint8_t *at)
{
	uint8_t code[TAGS_CODE_BYTES];

	code_of_tags(at, code);
	at[kind->end] = code[0];
	memcpy(at + kind->end + 4, code + 4, TAGS_CODE_BYTES - 4);
}

#define JFFS2(what, node_type, crc_at, fields_skipped)                     \
	{"JFFS2's " what, 4,	     crc_at,	fields_skipped | FIELD(8), \
	 is_jffs2,	  node_type, mend_jffs2}
#define UBIFS(what, node_type, bytes)                                  \
	{"UBIFS's " what, 8,	     bytes,	FIELD(16) | FIELD(20), \
	 is_ubifs,	  node_type, mend_ubifs}
#define UBI(what, letter, fields_skipped)                      \
	{"UBI's " what, 4,	UBI_BYTES - 4, fields_skipped, \
	 is_ubi,	letter, mend_ubi}

static const struct node_kind in_data[] = {
	JFFS2("inode node", JFFS2_INODE, 64, FIELD(60)),
	JFFS2("name node", JFFS2_DIRENT, 32, 0),
	UBIFS("inode node", 0, 160),
	UBIFS("data node", 1, 48),
	UBIFS("name node", 2, 56),
	UBIFS("attribute's name node", 3, 56),
	UBIFS("truncation node", 4, 56),
	UBIFS("superblock node", 6, 164),
	UBIFS("master node", 7, 176),
	UBIFS("log's node of a block", 8, 64),
	UBIFS("index node", 9, 48),
	UBIFS("commit start node", 10, 32),
	UBIFS("orphan node", 11, 32),
	UBI("header of erases", '#', 0),
	UBI("header of a volume's block", '!', FIELD(32)),
};

static const struct node_kind in_spare = {
	"YAFFS2's tags", 0, TAGS_BYTES, 0, is_yaffs2, 0, mend_yaffs2,
};

const struct node_kind *node_in_data(const uint8_t *at, size_t room)
{
	size_t i;

	for (i = 0; i < sizeof(in_data) / sizeof(*in_data); i++)
		if (in_data[i].is_here(&in_data[i], at, room))
			return &in_data[i];
	return NULL;
}

const struct node_kind *node_in_spare(const uint8_t *at, size_t room)
{
	return in_spare.is_here(&in_spare, at, room) ? &in_spare : NULL;
}

static bool is_field(const struct node_kind *kind, unsigned int at)
{
	return !(kind->skipped & FIELD(at));
}

unsigned int node_field_count(const struct node_kind *kind)
{
	unsigned int count = 0, at;

	for (at = kind->first; at < kind->end; at += 4)
		count += is_field(kind, at);
	return count;
}

unsigned int node_field_at(const struct node_kind *kind, unsigned int number)
{
	unsigned int at = kind->first;

	while (!is_field(kind, at) || number--)
		at += 4;
	return at;
}
