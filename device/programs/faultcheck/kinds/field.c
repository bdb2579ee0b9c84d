// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One field of a node that begins in the page, another value, and the node's
 * checksums as if it had always been that. The node, the field and the value
 * are drawn.
 */
#include <stdlib.h>
#include <string.h>

#include "../faults.h"
#include "../nodes.h"
#include "diag.h"
#include "payload.h"

#define NODES_MAX 512 /* of a page */
#define ALIGNMENT 4   /* of nodes, bytes */
#define TAGS_AT	  2   /* in the spare area, behind the bad block's mark */

static char note[80];

struct node {
	const struct node_kind *kind;
	uint8_t *at;
};

/* The data of a block, one page behind the other; and back. */
static void copy_data(const struct pages *pages, uint8_t *data, bool back)
{
	size_t size = pages->shape.page;
	unsigned int i;

	for (i = 0; i < pages->count; i++) {
		uint8_t *here = data + i * size, *there = page_bytes(pages, i);

		memcpy(back ? there : here, back ? here : there, size);
	}
}

static unsigned int find_nodes(const struct pages *pages, unsigned int page,
			       uint8_t *data, struct node *nodes)
{
	const struct shape *shape = &pages->shape;
	size_t begin = (size_t)page * shape->page, at;
	uint8_t *spare = page_bytes(pages, page) + shape->page + TAGS_AT;
	const struct node_kind *kind;
	unsigned int count = 0;

	for (at = begin; at < begin + shape->page && count < NODES_MAX - 1;
	     at += ALIGNMENT) {
		kind = node_in_data(data + at, shape->block - at);
		if (kind)
			nodes[count++] = (struct node){kind, data + at};
	}
	kind = node_in_spare(spare, shape->spare - TAGS_AT);
	if (kind)
		nodes[count++] = (struct node){kind, spare};
	return count;
}

/* Another value than it has: with one bit changed, one more, or an end of the
 * range. */
static uint32_t draw_value(uint32_t value, uint64_t *state)
{
	const uint32_t ends[] = {0, UINT32_MAX};
	uint64_t how = payload_below(4, state);
	uint32_t other = value + 1;

	if (how == 0)
		other = value ^ 1u << payload_below(32, state);
	else if (how < 3)
		other = ends[how - 1];
	return other == value ? value + 1 : other;
}

static void change_node(const struct node *node, uint64_t *state)
{
	unsigned int fields = node_field_count(node->kind);
	unsigned int at = node_field_at(
		node->kind, (unsigned int)payload_below(fields, state));
	uint32_t value, other;

	memcpy(&value, node->at + at, sizeof(value));
	other = draw_value(value, state);
	memcpy(node->at + at, &other, sizeof(other));
	node->kind->mend(node->kind, node->at);
	snprintf(note, sizeof(note), "%s, byte %u", node->kind->name, at);
}

static int change_field(const struct pages *pages, unsigned int page,
			uint64_t *state)
{
	uint8_t *data = allocate(pages->count, pages->shape.page, "a block");
	struct node *nodes = allocate(NODES_MAX, sizeof(*nodes), "nodes");
	unsigned int count;

	copy_data(pages, data, false);
	count = find_nodes(pages, page, data, nodes);
	if (count) {
		change_node(&nodes[payload_below(count, state)], state);
		copy_data(pages, data, true);
	}
	free(nodes);
	free(data);
	return !count;
}

static int store_other_field(const struct point *p)
{
	return damage_content(p->k, p->seed, change_field);
}

static const char *name_field(void)
{
	return note;
}

const struct fault_kind fault_kind_field = {
	.name = "field",
	.what = "a field of a node in the page it wrote is another, behind "
		"right checksums",
	.order = 12,
	.unreadable = true,
	.strikes = "p",
	.damage = store_other_field,
	.note = name_field,
};
