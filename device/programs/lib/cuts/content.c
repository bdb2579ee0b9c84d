// SPDX-License-Identifier: GPL-2.0-or-later
/* What a file may hold: its bytes are each of the last sync or of a later
 * operation, and so is its size. What an O_SYNC write wrote is none of before.
 */
#include <stdio.h>
#include <string.h>

#include "cuts/judge.h"

uint8_t cuts_data[READ_BYTES_MAX];
static uint8_t content[FILE_BYTES_MAX + 1], matched[READ_BYTES_MAX];

static void apply(const struct moment *m, int number, size_t *size)
{
	const struct op *op = &m->load->op[number];
	size_t end = op->at + op->bytes;

	if (op->what == OP_FALLOCATE) {
		if (end > *size)
			memset(content + *size, 0, end - *size);
		*size = end > *size ? end : *size;
		return;
	}
	if (op->what == OP_TRUNCATE) {
		if (op->bytes > *size)
			memset(content + *size, 0, op->bytes - *size);
		*size = op->bytes;
		return;
	}
	if (op->at > *size)
		memset(content + *size, 0, op->at - *size);
	memcpy(content + op->at, cuts_load_bytes(m->load, number), op->bytes);
	*size = end > *size ? end : *size;
}

static void compare(size_t had, size_t size)
{
	size_t i, upto = had < size ? had : size;

	for (i = 0; i < upto; i++)
		matched[i] |= cuts_data[i] == content[i];
	for (; i < had; i++) /* past its end at that moment */
		matched[i] |= !cuts_data[i];
}

/* The inode's content after the calls up to one, in content; how many of its
 * calls that are. */
static int content_at(const struct moment *m, const struct inode *node,
		      int from, size_t *size)
{
	int n;

	*size = 0;
	for (n = 0; n < node->ops && node->op[n] <= from; n++)
		apply(m, node->op[n], size);
	return n;
}

/* Whether an operation is an O_SYNC write that had returned at the cut. */
static bool is_synced_write(const struct moment *m, int number)
{
	const struct op *op = &m->load->op[number];

	return !m->nothing_kept && op->what == OP_SWRITE &&
	       op->returned <= m->operations;
}

/* Its bytes are no older ones. The least size that the file then has. */
static size_t forget_older(const struct moment *m, int number, size_t had,
			   size_t least)
{
	const struct op *op = &m->load->op[number];
	size_t end = op->at + op->bytes;

	if (op->at < had)
		memset(matched + op->at, 0, (end < had ? end : had) - op->at);
	return least > end ? least : end;
}

/* Whether the file is just what it was at some moment: so are nearly all, and a
 * byte by byte comparison takes most of a point's time. */
static bool is_whole(const struct moment *m, const struct inode *node, int from,
		     size_t had)
{
	size_t size;
	int n = content_at(m, node, from, &size), i, first = n;

	for (i = n; i < node->ops && node->op[i] <= m->last; i++)
		if (is_synced_write(m, node->op[i]))
			first = i + 1; /* nothing before it is whole */
	for (;; n++) {
		if (n >= first && had == size &&
		    !memcmp(cuts_data, content, had))
			return true;
		if (n == node->ops || node->op[n] > m->last)
			return false;
		apply(m, node->op[n], &size);
	}
}

const char *judge_content(const struct moment *m, int inode, int from,
			  size_t had)
{
	const struct inode *node = &m->load->inode[inode];
	size_t size, least, most, i;
	static char why[80];
	int n;

	if (is_whole(m, node, from, had))
		return NULL;
	n = content_at(m, node, from, &size);
	least = most = size;
	memset(matched, 0, had);
	compare(had, size);
	for (; n < node->ops && node->op[n] <= m->last; n++) {
		apply(m, node->op[n], &size);
		if (is_synced_write(m, node->op[n]))
			least = forget_older(m, node->op[n], had, least);
		least = size < least ? size : least;
		most = size > most ? size : most;
		compare(had, size);
	}
	if (had < least || had > most) {
		snprintf(why, sizeof(why), "%zu bytes, not %zu to %zu", had,
			 least, most);
		return why;
	}
	for (i = 0; i < had; i++) {
		if (!matched[i]) {
			snprintf(why, sizeof(why), "byte %zu of %zu is %u", i,
				 had, cuts_data[i]);
			return why;
		}
	}
	return NULL;
}
