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
#include "diag.h"
#include "payload.h"

#define LINE_MAX_BYTES 600
#define SAME_WORD      UINT32_MAX

static const struct {
	const char *word;
	enum what what;
	int names, numbers;
} kinds[] = {
	{"create", OP_CREATE, 1, 0}, {"mkdir", OP_MKDIR, 1, 0},
	{"write", OP_WRITE, 1, 2},   {"swrite", OP_SWRITE, 1, 2},
	{"mwrite", OP_MWRITE, 1, 2}, {"truncate", OP_TRUNCATE, 1, 1},
	{"rename", OP_RENAME, 2, 0}, {"link", OP_LINK, 2, 0},
	{"unlink", OP_UNLINK, 1, 0}, {"rmdir", OP_RMDIR, 1, 0},
	{"fsync", OP_FSYNC, 1, 0},   {"fsyncdir", OP_FSYNCDIR, 1, 0},
	{"sync", OP_SYNC, 0, 0},     {"readonly", OP_READONLY, 0, 0},
	{"open", OP_OPEN, 1, 0},     {"close", OP_CLOSE, 1, 0},
	{"damage", OP_DAMAGE, 0, 0},
};

static void *grow(void *list, int count, size_t size)
{
	/* room for a power of two */
	if (count & (count - 1))
		return list;
	list = realloc(list, (size_t)(count ? 2 * count : 1) * size);
	if (!list) {
		fail("no memory for a load");
		exit(EXIT_RUN_FAILED);
	}
	return list;
}

static int name_of(struct load *load, const char *path)
{
	const char *slash = strrchr(path, '/');
	struct name *name;
	char *folder;
	int i, parent = NONE;

	for (i = 0; i < load->names; i++)
		if (!strcmp(load->name[i].path, path))
			return i;
	if (slash) {
		folder = text("%.*s", (int)(slash - path), path);
		parent = name_of(load, folder);
		free(folder);
	}
	load->name = grow(load->name, load->names, sizeof(*load->name));
	name = &load->name[load->names];
	*name = (struct name){.path = text("%s", path), .parent = parent};
	return load->names++;
}

static int inode_now(const struct load *load, int name)
{
	const struct name *n = &load->name[name];

	return n->events ? n->event[n->events - 1].inode : NONE;
}

static void set_name(struct load *load, int name, int inode)
{
	int old = inode_now(load, name);
	struct name *n = &load->name[name];

	n->event = grow(n->event, n->events, sizeof(*n->event));
	n->event[n->events++] = (struct event){load->ops, inode};
	if (inode != NONE)
		load->inode[inode].links++;
	if (old != NONE && !--load->inode[old].links)
		load->inode[old].gone = load->ops;
}

static int new_inode(struct load *load, bool folder)
{
	load->inode = grow(load->inode, load->inodes, sizeof(*load->inode));
	load->inode[load->inodes] = (struct inode){
		.folder = folder,
		.gone = INT_MAX,
	};
	return load->inodes++;
}

static void content_changes(struct load *load, int inode)
{
	struct inode *i = &load->inode[inode];

	i->op = grow(i->op, i->ops, sizeof(*i->op));
	i->op[i->ops++] = load->ops;
}

/* What the operation makes of the names. */
static int trace(struct load *load, struct op *op)
{
	bool makes = op->what == OP_CREATE || op->what == OP_MKDIR;

	op->inode = NONE;
	if (op->name == NONE)
		return 0;
	/* the root is a folder that is always there */
	if (op->what == OP_FSYNCDIR && !*load->name[op->name].path)
		return 0;
	op->inode = makes ? new_inode(load, op->what == OP_MKDIR)
			  : inode_now(load, op->name);
	if (op->inode == NONE)
		return fail("%s: operation %d is on %s, which is not there",
			    load->title, load->ops, load->name[op->name].path);
	switch (op->what) {
	case OP_CREATE:
	case OP_MKDIR:
		set_name(load, op->name, op->inode);
		break;
	case OP_WRITE:
	case OP_SWRITE:
	case OP_MWRITE:
	case OP_TRUNCATE:
		content_changes(load, op->inode);
		break;
	case OP_RENAME:
		/* two names of one file: nothing happens, by POSIX */
		if (inode_now(load, op->to) == op->inode)
			break;
		set_name(load, op->to, op->inode);
		set_name(load, op->name, NONE);
		break;
	case OP_LINK:
		set_name(load, op->to, op->inode);
		load->inode[op->inode].linked = true;
		break;
	case OP_UNLINK:
	case OP_RMDIR:
		set_name(load, op->name, NONE);
		break;
	default:
		break;
	}
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
	if (kinds[k].names)
		op.name = name_of(load, words[1]);
	if (kinds[k].names == 2)
		op.to = name_of(load, words[2]);
	if (kinds[k].numbers == 2)
		op.at = strtoull(words[2], NULL, 10);
	if (kinds[k].numbers)
		op.bytes = strtoull(words[n - 1], NULL, 10);
	if (op.at + op.bytes > FILE_BYTES_MAX)
		return fail("%s: a file of more than %u bytes", load->title,
			    FILE_BYTES_MAX);
	if (trace(load, &op))
		return -1;
	load->op = grow(load->op, load->ops, sizeof(*load->op));
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
	for (i = 0; i < load->inodes; i++)
		free(load->inode[i].op);
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
	}
	return op->data;
}
