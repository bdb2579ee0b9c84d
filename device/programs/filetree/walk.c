// SPDX-License-Identifier: GPL-2.0-or-later
/* A walk through a tree; see walk.h. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "diag.h"
#include "stop.h"
#include "walk.h"

#define LOST	      "lost+found"
#define READDIR_BYTES 32768 /* the C library's readdir() asks for so many */

struct entry {
	char *name;
	size_t length;
	struct stat st;
};

struct entries {
	struct entry *all;
	size_t count, room;
};

static void add(struct entries *entries, const char *name,
		const struct stat *st)
{
	struct entry *entry;

	if (entries->count == entries->room) {
		entries->room = entries->room ? 2 * entries->room : 64;
		entries->all = realloc(entries->all,
				       entries->room * sizeof(*entries->all));
		if (!entries->all) {
			fail("out of memory for the names of a folder");
			exit(EXIT_RUN_FAILED);
		}
	}
	entry = &entries->all[entries->count++];
	entry->name = text("%s", name);
	entry->length = strlen(name);
	entry->st = *st;
}

static void clear(struct entries *entries)
{
	for (size_t i = 0; i < entries->count; i++)
		free(entries->all[i].name);
	free(entries->all);
}

static int in_order(const void *a, const void *b)
{
	const struct entry *one = a, *other = b;

	if (one->length != other->length)
		return one->length < other->length ? -1 : 1;
	return strcmp(one->name, other->name);
}

static int take(struct walk *walk, struct entries *entries, const char *name)
{
	size_t length = walk->path.length;
	struct stat st;
	int error;

	if (!strcmp(name, ".") || !strcmp(name, ".."))
		return 0;
	error = path_push(&walk->path, name) ||
		call_lstat(walk->calls, walk->path.text, &st);
	path_cut(&walk->path, length);
	if (!error)
		add(entries, name, &st);
	return error ? -1 : 0;
}

static int read_names(struct walk *walk, struct entries *entries, int fd)
{
	static _Alignas(struct dirent64) char room[READDIR_BYTES];
	long got;

	while ((got = call_readdir(walk->calls, fd, room, sizeof(room),
				   walk->path.text)) > 0) {
		for (long at = 0; at < got;) {
			const struct dirent64 *found =
				(const struct dirent64 *)(room + at);

			if (take(walk, entries, found->d_name))
				return -1;
			at += found->d_reclen;
		}
	}
	return got < 0 ? -1 : 0;
}

static int read_folder(struct walk *walk, struct entries *entries)
{
	int fd = call_open(walk->calls, walk->path.text,
			   O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	int error;

	if (fd < 0)
		return -1;
	error = read_names(walk, entries, fd);
	if (call_close(walk->calls, fd, walk->path.text) || error)
		return -1;
	if (entries->count)
		qsort(entries->all, entries->count, sizeof(*entries->all),
		      in_order);
	return 0;
}

static int visit(struct walk *walk, const struct entry *entry)
{
	struct tally *tally = &walk->tally;
	size_t length = walk->path.length;
	int error;

	if (stop_wanted())
		return -1;
	if (S_ISREG(entry->st.st_mode)) {
		tally->files++;
		tally->bytes += (uint64_t)entry->st.st_size;
		moments_add(&tally->size_each, (uint64_t)entry->st.st_size);
	} else {
		tally->others++;
	}
	if (!walk->entry)
		return 0;
	if (path_push(&walk->path, entry->name))
		return -1;
	error = walk->entry(walk->context, walk, entry->name, &entry->st);
	path_cut(&walk->path, length);
	return error;
}

static int walk_folder(struct walk *walk, const struct stat *st,
		       uint64_t depth);

static int descend(struct walk *walk, const struct entry *entry, uint64_t depth)
{
	size_t length = walk->path.length;
	int error;

	if (stop_wanted() || path_push(&walk->path, entry->name))
		return -1;
	error = walk_folder(walk, &entry->st, depth);
	path_cut(&walk->path, length);
	return error;
}

/* What is no folder first, then the folders. */
static int walk_entries(struct walk *walk, const struct entries *entries,
			uint64_t depth)
{
	int error = 0;

	for (size_t i = 0; i < entries->count && !error; i++)
		if (!S_ISDIR(entries->all[i].st.st_mode))
			error = visit(walk, &entries->all[i]);
	for (size_t i = 0; i < entries->count && !error; i++) {
		if (!S_ISDIR(entries->all[i].st.st_mode))
			continue;
		if (walk->spare_lost && depth == 1 &&
		    !strcmp(entries->all[i].name, LOST))
			continue;
		error = descend(walk, &entries->all[i], depth + 1);
	}
	return error;
}

static int walk_folder(struct walk *walk, const struct stat *st, uint64_t depth)
{
	struct entries entries = {0};
	int error;

	if (walk->one_device && st->st_dev != walk->device)
		return fail("'%s' is on another file system: unmount it first",
			    walk->path.text);
	tally_folder(&walk->tally, depth);
	if (walk->enter && walk->enter(walk->context, walk))
		return -1;
	error = read_folder(walk, &entries) ||
		walk_entries(walk, &entries, depth) ||
		(walk->leave && walk->leave(walk->context, walk, depth == 1));
	clear(&entries);
	return error ? -1 : 0;
}

int walk_run(struct walk *walk, const char *folder)
{
	struct stat st;

	if (path_open(&walk->path, folder) ||
	    call_lstat(walk->calls, walk->path.text, &st))
		return -1;
	if (!S_ISDIR(st.st_mode))
		return fail("'%s' is no folder%s", walk->path.text,
			    S_ISLNK(st.st_mode)
				    ? " but a link, which is not followed"
				    : "");
	walk->device = st.st_dev;
	return walk_folder(walk, &st, 1);
}
