// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Loads, read from a text: an operation a line, "load TITLE" begins the next
 * one. Names are traced through all operations, so that it is known which file
 * a name stands for at each moment.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuts/files.h"
#include "cuts/names.h"
#include "diag.h"
#include "payload.h"

#define LINE_MAX_BYTES 600
#define SAME_WORD      UINT32_MAX

static const struct {
	const char *word;
	enum what what;
	int names, numbers;
} kinds[] = {
	{"create", OP_CREATE, 1, 0},
	{"mkdir", OP_MKDIR, 1, 0},
	{"write", OP_WRITE, 1, 2},
	{"swrite", OP_SWRITE, 1, 2},
	{"mwrite", OP_MWRITE, 1, 2},
	{"truncate", OP_TRUNCATE, 1, 1},
	{"rename", OP_RENAME, 2, 0},
	{"link", OP_LINK, 2, 0},
	{"unlink", OP_UNLINK, 1, 0},
	{"rmdir", OP_RMDIR, 1, 0},
	{"fsync", OP_FSYNC, 1, 0},
	{"fsyncdir", OP_FSYNCDIR, 1, 0},
	{"sync", OP_SYNC, 0, 0},
	{"readonly", OP_READONLY, 0, 0},
	{"open", OP_OPEN, 1, 0},
	{"close", OP_CLOSE, 1, 0},
	{"damage", OP_DAMAGE, 0, 0},
	{"noreplace", OP_NOREPLACE, 2, 0},
	{"exchange", OP_EXCHANGE, 2, 0},
	{"whiteout", OP_WHITEOUT, 2, 0},
	{"symlink", OP_SYMLINK, 1, 1},
	{"tmplink", OP_TMPLINK, 1, 1},
	{"fdatasync", OP_FDATASYNC, 1, 0},
	{"fallocate", OP_FALLOCATE, 1, 2},
	{"setxattr", OP_SETXATTR, 1, 2},
	{"removexattr", OP_REMOVEXATTR, 1, 1},
	{"chmod", OP_CHMOD, 1, 1},
	{"chown", OP_CHOWN, 1, 2},
	{"utimens", OP_UTIMENS, 1, 1},
	{"dropcaches", OP_DROPCACHES, 0, 0},
	{"statfs", OP_STATFS, 0, 0},
	{"tmpfile", OP_TMPFILE, 1, 0},
	{"linktmp", OP_LINKTMP, 1, 0},
	{"beginsync", OP_BEGINSYNC, 0, 1},
	{"endsync", OP_ENDSYNC, 0, 0},
	{"wakegc", OP_WAKEGC, 0, 1},
};

static int new_inode(struct load *load, enum sort sort)
{
	load->inode =
		cuts_grow(load->inode, load->inodes, sizeof(*load->inode));
	load->inode[load->inodes] = (struct inode){
		.sort = sort,
		.gone = INT_MAX,
	};
	return load->inodes++;
}

static void content_changes(struct load *load, int inode)
{
	struct inode *i = &load->inode[inode];

	i->op = cuts_grow(i->op, i->ops, sizeof(*i->op));
	i->op[i->ops++] = load->ops;
}

static void metadata_changes(struct load *load, int inode)
{
	struct inode *i = &load->inode[inode];

	i->set = cuts_grow(i->set, i->sets, sizeof(*i->set));
	i->set[i->sets++] = load->ops;
	load->sets = true;
}

/* A new inode's sort; -1: the operation makes none. */
static int sort_made(const struct op *op)
{
	switch (op->what) {
	case OP_CREATE:
	case OP_TMPLINK:
	case OP_TMPFILE:
		return A_FILE;
	case OP_MKDIR:
		return A_FOLDER;
	case OP_SYMLINK:
		return A_SYMLINK;
	default:
		return -1;
	}
}

/* A file that is held open under a name, and has none any more. */
static int inode_held(const struct load *load, int name)
{
	int i;

	for (i = load->ops - 1; i >= load->base; i--) {
		if (load->op[i].name != name)
			continue;
		if (load->op[i].what == OP_CLOSE)
			break;
		if (load->op[i].what == OP_OPEN ||
		    load->op[i].what == OP_TMPFILE)
			return load->op[i].inode;
	}
	return NONE;
}

static void trace_rename(struct load *load, const struct op *op)
{
	/* two names of one file: nothing happens, by POSIX */
	if (names_now(load, op->to) == op->inode)
		return;
	if (op->what == OP_EXCHANGE) {
		names_exchange(load, op->name, op->to);
		return;
	}
	names_move(load, op->name, op->to);
	names_set(load, op->name,
		  op->what == OP_WHITEOUT ? new_inode(load, A_WHITEOUT) : NONE);
}

/* What the operation makes of the names. */
static int trace(struct load *load, struct op *op)
{
	int sort = sort_made(op);

	op->inode = NONE;
	if (op->name == NONE)
		return 0;
	/* the root is a folder that is always there */
	if (op->what == OP_FSYNCDIR && !*load->name[op->name].path)
		return 0;
	op->inode = sort >= 0 ? new_inode(load, (enum sort)sort)
			      : names_now(load, op->name);
	if (op->inode == NONE)
		op->inode = inode_held(load, op->name);
	if (op->inode == NONE || (op->to != NONE && op->what == OP_EXCHANGE &&
				  names_now(load, op->to) == NONE))
		return fail("%s: operation %d is on %s, which is not there",
			    load->title, load->ops, load->name[op->name].path);
	switch (op->what) {
	case OP_CREATE:
	case OP_MKDIR:
	case OP_SYMLINK:
		names_set(load, op->name, op->inode);
		break;
	case OP_TMPLINK:
		names_set(load, op->name, op->inode);
		content_changes(load, op->inode);
		break;
	case OP_TMPFILE:
		load->inode[op->inode].gone = load->ops;
		break;
	case OP_LINKTMP:
		names_set(load, op->name, op->inode);
		break;
	case OP_WRITE:
	case OP_SWRITE:
	case OP_MWRITE:
	case OP_TRUNCATE:
	case OP_FALLOCATE:
		content_changes(load, op->inode);
		break;
	case OP_SETXATTR:
	case OP_REMOVEXATTR:
	case OP_CHMOD:
	case OP_CHOWN:
	case OP_UTIMENS:
		metadata_changes(load, op->inode);
		break;
	case OP_RENAME:
	case OP_NOREPLACE:
	case OP_EXCHANGE:
	case OP_WHITEOUT:
		trace_rename(load, op);
		break;
	case OP_LINK:
		names_set(load, op->to, op->inode);
		load->inode[op->inode].linked = true;
		break;
	case OP_UNLINK:
	case OP_RMDIR:
		names_set(load, op->name, NONE);
		break;
	default:
		break;
	}
	return 0;
}

/* Whether a number of an operation is no size of its. */
static bool is_metadata(const struct op *op)
{
	return op->what == OP_CHMOD || op->what == OP_CHOWN ||
	       op->what == OP_UTIMENS;
}

static int refuse_large(const struct load *load, const struct op *op)
{
	if (op->what == OP_SYMLINK && (!op->bytes || op->bytes >= VALUE_BYTES))
		return fail("%s: a target has 1 to %d letters", load->title,
			    VALUE_BYTES - 1);
	if (op->what == OP_SETXATTR &&
	    (op->at >= XATTRS || op->bytes > VALUE_BYTES))
		return fail("%s: attributes are 0 to %d, of %d bytes at most",
			    load->title, XATTRS - 1, VALUE_BYTES);
	if (op->what == OP_REMOVEXATTR && op->bytes >= XATTRS)
		return fail("%s: attributes are 0 to %d", load->title,
			    XATTRS - 1);
	if (!is_metadata(op) && op->at + op->bytes > FILE_BYTES_MAX)
		return fail("%s: a file of more than %u bytes", load->title,
			    FILE_BYTES_MAX);
	return 0;
}

static int add(struct load *load, char *line)
{
	struct op op = {
		.to = NONE, .name = NONE, .begun = NEVER, .returned = NEVER};
	char *words[5] = {};
	size_t k, n = 0;
	char *rest;

	for (words[n] = strtok_r(line, " \n", &rest); words[n] && n < 4;)
		words[++n] = strtok_r(NULL, " \n", &rest);
	for (k = 0; k < sizeof(kinds) / sizeof(*kinds); k++)
		if (!strcmp(kinds[k].word, words[0]))
			break;
	if (k == sizeof(kinds) / sizeof(*kinds))
		return fail("%s: no such operation: %s", load->title, words[0]);
	/* a folder that is synced without a name is the root */
	if (kinds[k].what == OP_FSYNCDIR && n == 1)
		words[n++] = "";
	if (n != 1u + (size_t)kinds[k].names + (size_t)kinds[k].numbers)
		return fail("%s: %s has too few or too many words", load->title,
			    words[0]);
	op.what = kinds[k].what;
	load->statfs = load->statfs || op.what == OP_STATFS;
	if (kinds[k].names)
		op.name = names_number(load, words[1]);
	if (kinds[k].names == 2)
		op.to = names_number(load, words[2]);
	if (kinds[k].numbers == 2)
		op.at = strtoull(words[2], NULL, 10);
	if (kinds[k].numbers)
		op.bytes = strtoull(words[n - 1], NULL,
				    op.what == OP_CHMOD ? 8 : 10);
	if (refuse_large(load, &op))
		return -1;
	if (trace(load, &op))
		return -1;
	load->op = cuts_grow(load->op, load->ops, sizeof(*load->op));
	load->op[load->ops++] = op;
	return 0;
}

/* The base's operations were kept long ago, and then a sync. */
static int end_base(struct load *load)
{
	char sync[] = "sync";
	int i;

	if (add(load, sync))
		return -1;
	load->base = load->ops;
	for (i = 0; i < load->ops; i++)
		load->op[i].begun = load->op[i].returned = 0;
	return 0;
}

int cuts_files_read(const char *path, int n, struct load *load)
{
	char line[LINE_MAX_BYTES];
	FILE *file = fopen(path, "re");
	int at = -1, error = 0;

	if (!file)
		return fail_errno("open", path);
	load->title = text("base");
	while (!error && at <= n && fgets(line, sizeof(line), file)) {
		if (*line == '#' || *line == '\n')
			continue;
		if (strncmp(line, "load ", 5)) {
			if (at < 0 || at == n)
				error = add(load, line);
			continue;
		}
		if (at < 0)
			error = end_base(load);
		if (++at == n) {
			line[strcspn(line, "\n")] = '\0';
			free(load->title);
			load->title = text("%s", line + 5);
		}
	}
	fclose(file);
	return error ? error : at < n;
}

void cuts_files_free(struct load *load)
{
	int i;

	for (i = 0; i < load->names; i++) {
		free(load->name[i].path);
		free(load->name[i].event);
	}
	for (i = 0; i < load->inodes; i++) {
		free(load->inode[i].op);
		free(load->inode[i].set);
	}
	for (i = 0; i < load->ops; i++)
		free(load->op[i].data);
	free(load->title);
	free(load->name);
	free(load->inode);
	free(load->op);
}

/* Of every two writes in turn, one's bytes are all drawn; of eight words of the
 * other's, seven are the same. */
static uint64_t word_of(int number, uint64_t at)
{
	bool drawn = number / 2 % 2 || at % 8 == 0;
	uint64_t state = (drawn ? at : SAME_WORD) + ((uint64_t)number << 32);

	return payload_draw(&state);
}

const uint8_t *cuts_load_bytes(const struct load *load, int number)
{
	struct op *op = &load->op[number];
	uint64_t i, at;
	uint8_t byte;

	if (op->data)
		return op->data;
	op->data = allocate(op->bytes + 1, 1, "what a load writes");
	for (i = 0; i < op->bytes; i++) {
		at = op->at + i;
		byte = (uint8_t)(word_of(number, at / 8) >> 8 * (at % 8));
		op->data[i] = byte ? byte : 1;
		if (op->what == OP_SYMLINK)
			op->data[i] = (uint8_t)('a' + byte % 26);
	}
	return op->data;
}
