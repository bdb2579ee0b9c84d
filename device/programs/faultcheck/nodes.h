/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What on flash has a checksum: nodes of JFFS2 and UBIFS, headers of UBI, tags
 * of YAFFS2. To change a field and make the checksum right again.
 *
 * Sources: Linux's include/uapi/linux/jffs2.h, fs/ubifs/ubifs-media.h,
 * drivers/mtd/ubi/ubi-media.h; YAFFS2's yaffs_packedtags2.h, yaffs_ecc.c.
 */
#ifndef FAULTCHECK_NODES_H
#define FAULTCHECK_NODES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* A kind of node. A field is four bytes at a multiple of four, from first to
 * before end, of which none is a checksum, a magic number or UBIFS's length,
 * without which nobody would see a node. */
struct node_kind {
	const char *name;
	unsigned int first, end;
	uint64_t skipped; /* bit N: the field at byte 4 N is none */

	/* Whether one begins here, with right checksums; room: bytes from here.
	 */
	bool (*is_here)(const struct node_kind *kind, const uint8_t *at,
			size_t room);
	unsigned int type; /* for is_here(), or its size */

	/* Make the checksums over its fields right. */
	void (*mend)(const struct node_kind *kind, uint8_t *at);
};

/* A node's kind; NULL: none begins here, among those of a page's data, or of a
 * page's spare area. */
const struct node_kind *node_in_data(const uint8_t *at, size_t room);
const struct node_kind *node_in_spare(const uint8_t *at, size_t room);

unsigned int node_field_count(const struct node_kind *kind);

/* Where the N-th field is, from the node's begin. */
unsigned int node_field_at(const struct node_kind *kind, unsigned int number);

#endif
