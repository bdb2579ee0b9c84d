// SPDX-License-Identifier: GPL-2.0-or-later
/* The names of a load: what each stands for from an operation on. Those below a
 * folder that is renamed move with it. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cuts/names.h"
#include "diag.h"

void *cuts_grow(void *list, int count, size_t size)
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

int names_number(struct load *load, const char *path)
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
		parent = names_number(load, folder);
		free(folder);
	}
	load->name = cuts_grow(load->name, load->names, sizeof(*load->name));
	name = &load->name[load->names];
	*name = (struct name){.path = text("%s", path), .parent = parent};
	return load->names++;
}

int names_now(const struct load *load, int name)
{
	const struct name *n = &load->name[name];

	return n->events ? n->event[n->events - 1].inode : NONE;
}

void names_set(struct load *load, int name, int inode)
{
	int old = names_now(load, name);
	struct name *n = &load->name[name];

	n->event = cuts_grow(n->event, n->events, sizeof(*n->event));
	n->event[n->events++] = (struct event){load->ops, inode};
	if (inode != NONE) {
		load->inode[inode].links++;
		load->inode[inode].gone = INT_MAX;
	}
	if (old != NONE && !--load->inode[old].links)
		load->inode[old].gone = load->ops;
}

/* The rest of a path below a folder; NULL: it is not there. */
static const char *path_below(const char *path, const char *folder)
{
	size_t length = strlen(folder);

	return !strncmp(path, folder, length) && path[length] == '/'
		       ? path + length
		       : NULL;
}

/* The name below one folder that stands where this one does below another. */
static int counterpart(struct load *load, int name, int from, int to)
{
	const char *rest =
		path_below(load->name[name].path, load->name[from].path);
	char *path;
	int found;

	if (!rest)
		return NONE;
	path = text("%s%s", load->name[to].path, rest);
	found = names_number(load, path);
	free(path);
	return found;
}

void names_move(struct load *load, int from, int to)
{
	int i, moved, count = load->names;

	names_set(load, to, names_now(load, from));
	for (i = 0; i < count; i++) {
		if (names_now(load, i) == NONE)
			continue;
		moved = counterpart(load, i, from, to);
		if (moved == NONE)
			continue;
		names_set(load, moved, names_now(load, i));
		names_set(load, i, NONE);
	}
}

static void swap(struct load *load, int name, int other)
{
	int inode = names_now(load, name), others = names_now(load, other);

	if (inode == NONE && others == NONE)
		return;
	names_set(load, name, others);
	names_set(load, other, inode);
}

/* Whether this operation has set a name already. */
static bool is_set(const struct load *load, int name)
{
	const struct name *n = &load->name[name];

	return n->events && n->event[n->events - 1].op == load->ops;
}

void names_exchange(struct load *load, int name, int other)
{
	int i, mate, count = load->names;

	swap(load, name, other);
	for (i = 0; i < count; i++) {
		mate = counterpart(load, i, name, other);
		if (mate == NONE)
			mate = counterpart(load, i, other, name);
		if (mate != NONE && !is_set(load, i))
			swap(load, i, mate);
	}
}
