// SPDX-License-Identifier: GPL-2.0-or-later
/* filetree list, find and delete: walks that read no file. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "command.h"
#include "diag.h"
#include "path.h"
#include "walk.h"

int list_run(struct request *request, struct found *found)
{
	struct walk walk = {.calls = &found->calls};
	int error;

	if (request->digest)
		return read_run(request, found);
	error = walk_run(&walk, request->place);
	found->tally = walk.tally;
	return error;
}

struct search {
	const char *name;
	uint64_t matches;
};

static int compare(struct search *search, const struct walk *walk,
		   const char *name)
{
	if (!strcmp(name, search->name) && !search->matches++)
		fail("found '%s', which was to be absent", walk->path.text);
	return 0;
}

static int compare_entry(void *context, struct walk *walk, const char *name,
			 const struct stat *st)
{
	(void)st;
	return compare(context, walk, name);
}

static int compare_folder(void *context, struct walk *walk)
{
	if (!*path_below(&walk->path))
		return 0;
	return compare(context, walk, strrchr(walk->path.text, '/') + 1);
}

int find_run(struct request *request, struct found *found)
{
	struct search search = {.name = request->name};
	struct walk walk = {
		.calls = &found->calls,
		.enter = compare_folder,
		.entry = compare_entry,
		.context = &search,
	};
	int error;

	if (!*search.name || strchr(search.name, '/')) {
		fail("find: NAME '%s': give a name, without a slash",
		     search.name);
		return REFUSED;
	}
	error = walk_run(&walk, request->place);
	found->tally = walk.tally;
	return error || search.matches ? -1 : 0;
}

static int delete_entry(void *context, struct walk *walk, const char *name,
			const struct stat *st)
{
	(void)context;
	(void)name;
	(void)st;
	return call_unlink(walk->calls, walk->path.text);
}

static int delete_folder(void *context, struct walk *walk, bool top)
{
	const struct request *request = context;

	if (top && request->keep_top)
		return 0;
	return call_rmdir(walk->calls, walk->path.text);
}

/*
 * Whether rmdir(2) could remove the folder @top once it is empty: found before
 * anything in it is deleted.
 */
static int check_removable(const char *top)
{
	struct path path;
	const char *name;
	struct statx st;

	if (path_open(&path, top))
		return REFUSED;
	if (statx(AT_FDCWD, path.text, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &st) ||
	    !S_ISDIR(st.stx_mode))
		return 0; /* the walk says what is wrong */
	name = strrchr(path.text, '/');
	name = name ? name + 1 : path.text;
	if (*name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
	    !(st.stx_attributes & STATX_ATTR_MOUNT_ROOT))
		return 0;
	fail("'%s' cannot be removed: it is a mountpoint, or has no name of "
	     "its own; give --keep-top to delete only what is below",
	     top);
	return REFUSED;
}

int delete_run(struct request *request, struct found *found)
{
	struct walk walk = {
		.calls = &found->calls,
		.one_device = true,
		.spare_lost = request->keep_top,
		.entry = delete_entry,
		.leave = delete_folder,
		.context = request,
	};
	int error;

	if (!request->keep_top && check_removable(request->place))
		return REFUSED;
	error = walk_run(&walk, request->place);
	found->tally = walk.tally;
	if (error)
		fail("deleted %llu files and %llu folders of '%s' before that",
		     (unsigned long long)found->calls.each[CALL_UNLINK].count,
		     (unsigned long long)found->calls.each[CALL_RMDIR].count,
		     request->place);
	return error;
}
