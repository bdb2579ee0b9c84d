// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A folder under two names. The old one is removed with all that is in it, as a
 * user would who sees a name too many: what was in the folder, and had been
 * synced, is then gone under the new name too.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cuts/judge.h"

#define OPEN_AT_ONCE 8

static int take_away(const char *path, const struct stat *st, int type,
		     struct FTW *walk)
{
	(void)st;
	(void)type;
	(void)walk;
	return remove(path);
}

/* The first name below a folder that cannot be looked at; NULL: none. */
static const char *first_broken(const struct load *load, const char *folder)
{
	size_t length = strlen(folder);
	char path[PATH_MAX];
	struct stat st;
	int i;

	for (i = 0; i < load->names; i++) {
		const struct name *name = &load->name[i];

		if (strncmp(name->path, folder, length) ||
		    name->path[length] != '/' || !name->events ||
		    name->event[name->events - 1].inode == NONE)
			continue;
		snprintf(path, sizeof(path), MOUNTPOINT "/%s", name->path);
		if (lstat(path, &st))
			return name->path;
	}
	return NULL;
}

void judge_two_folders(const struct load *load, const struct op *op,
		       struct finding *finding)
{
	const char *old = load->name[op->name].path;
	const char *new = load->name[op->to].path;
	char path[PATH_MAX];
	const char *broken;

	if (finding->verdict != HELD)
		return;
	snprintf(path, sizeof(path), MOUNTPOINT "/%s", old);
	if (nftw(path, take_away, OPEN_AT_ONCE, FTW_DEPTH | FTW_PHYS)) {
		cuts_found(finding, FOLDER_TWICE,
			   "%s and %s are one folder; rm -r %s: %s", old, new,
			   old, strerror(errno));
		return;
	}
	broken = first_broken(load, new);
	if (broken)
		cuts_found(finding, FOLDER_TWICE,
			   "%s and %s are one folder; after rm -r %s, %s: %s",
			   old, new, old, broken, strerror(errno));
	else
		cuts_found(finding, FOLDER_TWICE, "%s and %s are one folder",
			   old, new);
}
