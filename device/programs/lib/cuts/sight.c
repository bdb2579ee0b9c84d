// SPDX-License-Identifier: GPL-2.0-or-later
/* What a mount shows: under each name of the load, and of other names. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cuts/judge.h"

/* One differing word makes another digest: each step can be undone. */
void sight_digest(uint64_t *to, const void *from, size_t bytes)
{
	const uint8_t *byte = from;
	uint64_t word;

	for (; bytes >= sizeof(word); bytes -= sizeof(word)) {
		memcpy(&word, byte, sizeof(word));
		*to = (*to ^ word) * 0x9e3779b97f4a7c15u;
		*to ^= *to >> 32;
		byte += sizeof(word);
	}
	while (bytes--)
		*to = (*to ^ *byte++) * 0x100000001b3u;
}

/* -1: it cannot be read. */
static ssize_t read_file(int fd, size_t bytes)
{
	size_t have = 0;
	ssize_t got;

	do {
		got = read(fd, cuts_data + have, sizeof(cuts_data) - have);
		have += got > 0 ? (size_t)got : 0;
	} while (got > 0 && have != bytes);
	return got < 0 ? -1 : (ssize_t)have;
}

static enum sight unreadable(const struct name *name, struct finding *finding)
{
	cuts_found(finding, UNREADABLE, "%s: %s", name->path, strerror(errno));
	return SIGHT_UNREADABLE;
}

/* What is under an open name. */
static enum sight look_in(int fd, const struct load *load, int number,
			  struct stat *st, size_t *had, struct finding *finding,
			  uint64_t *all)
{
	const struct name *name = &load->name[number];
	uint64_t is_folder;
	ssize_t got;

	if (fstat(fd, st))
		return unreadable(name, finding);
	is_folder = S_ISDIR(st->st_mode);
	sight_digest(all, &is_folder, sizeof(is_folder));
	if (load->sets)
		metadata_read(fd, st, extend_is_longer(number), all);
	if (is_folder)
		return SIGHT_FOLDER;
	got = read_file(fd, (size_t)st->st_size);
	if (got < 0)
		return unreadable(name, finding);
	*had = extended_had(load, number, (size_t)got, finding);
	sight_digest(all, had, sizeof(*had));
	sight_digest(all, cuts_data, *had);
	return SIGHT_FILE;
}

/* What open(2) refuses to open: a symbolic link, a whiteout. */
static enum sight look_at_special(const char *path, const struct name *name,
				  struct stat *st, size_t *had,
				  struct finding *finding, uint64_t *all)
{
	ssize_t got;

	if (lstat(path, st))
		return unreadable(name, finding);
	sight_digest(all, &st->st_mode, sizeof(st->st_mode));
	*had = 0;
	if (S_ISCHR(st->st_mode) && !st->st_rdev)
		return SIGHT_WHITEOUT;
	got = S_ISLNK(st->st_mode)
		      ? readlink(path, (char *)cuts_data, sizeof(cuts_data))
		      : -1;
	if (got < 0)
		return unreadable(name, finding);
	*had = (size_t)got;
	sight_digest(all, cuts_data, *had);
	return SIGHT_SYMLINK;
}

/* The path is walked once: that is a good part of reading a small file. */
enum sight sight_name(const struct load *load, int number, struct stat *st,
		      size_t *had, struct finding *finding, uint64_t *all)
{
	const struct name *name = &load->name[number];
	char path[PATH_MAX];
	enum sight sight;
	int fd;

	snprintf(path, sizeof(path), MOUNTPOINT "/%s", name->path);
	sight_digest(all, name->path, strlen(name->path));
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 && (errno == ELOOP || errno == ENXIO))
		return look_at_special(path, name, st, had, finding, all);
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR
			       ? SIGHT_NONE
			       : unreadable(name, finding);
	sight = look_in(fd, load, number, st, had, finding, all);
	close(fd);
	return sight;
}

static bool known(const struct load *load, const char *path)
{
	int i;

	for (i = 0; i < load->names; i++)
		if (!strcmp(load->name[i].path, path))
			return true;
	return !strcmp(path, "lost+found") || !strcmp(path, CHECKS_OWN);
}

/* Every name in a folder is one of the load's. */
void judge_names(const struct load *load, const char *folder,
		 struct finding *finding)
{
	char path[PATH_MAX], below[PATH_MAX];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), MOUNTPOINT "/%s", folder);
	dir = opendir(path);
	if (!dir) {
		cuts_found(finding, UNREADABLE, "folder %s: %s", folder,
			   strerror(errno));
		return;
	}
	while ((entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		snprintf(below, sizeof(below), "%s%s%s", folder,
			 *folder ? "/" : "", entry->d_name);
		if (!known(load, below))
			cuts_found(finding, UNKNOWN, "%s", below);
	}
	closedir(dir);
}
