// SPDX-License-Identifier: GPL-2.0-or-later
/* Prints the tree: a line for each file, sorted, with a hash of its content. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "diag.h"
#include "fsops.h"

void names_add(struct names *names, const char *name)
{
	if (names->count == names->room) {
		names->room = names->room ? 2 * names->room : 8;
		names->at =
			realloc(names->at, names->room * sizeof(*names->at));
		if (!names->at) {
			fail("out of memory for names");
			exit(EXIT_RUN_FAILED);
		}
	}
	names->at[names->count++] = text("%s", name);
}

size_t names_count(const struct names *names, const char *name)
{
	size_t count = 0;

	for (size_t i = 0; i < names->count; i++)
		count += !strcmp(names->at[i], name);
	return count;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void names_sort(struct names *names)
{
	if (names->count)
		qsort(names->at, names->count, sizeof(*names->at), by_name);
}

void names_clear(struct names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->at[i]);
	free(names->at);
	*names = (struct names){0};
}

static char type_letter(mode_t mode)
{
	return S_ISDIR(mode)   ? 'd'
	       : S_ISREG(mode) ? 'f'
	       : S_ISLNK(mode) ? 'l'
			       : '?';
}

/* By the clock alone it cannot be said when a folder or a link changed. */
static void say_times(const struct stat *st)
{
	bool set = st->st_mtime < CLOCK_START;

	if (set && (opclock_runs() || S_ISREG(st->st_mode)))
		printf(" at %lld", (long long)st->st_mtime);
	else if (opclock_runs())
		printf(" m%lld", (long long)opclock_operation(st->st_mtime));
	else if (S_ISREG(st->st_mode))
		printf(" now");
	if (opclock_runs())
		printf(" c%lld", (long long)opclock_operation(st->st_ctime));
}

/* A directory's size differs from one file system to another. */
void say_stat(const struct stat *st, const char *more)
{
	printf("%c %04o %lu", type_letter(st->st_mode), st->st_mode & 07777,
	       (unsigned long)st->st_nlink);
	if (!S_ISDIR(st->st_mode))
		printf(" %lld", (long long)st->st_size);
	say_times(st);
	printf("%s%s\n", *more ? " " : "", more);
}

bool is_attribute(const char *name)
{
	return !strncmp(name, ATTRIBUTES, strlen(ATTRIBUTES));
}

static void say_attribute(int fd, const char *path, const char *name)
{
	char value[4096];
	ssize_t size = fgetxattr(fd, name, value, sizeof(value));

	printf("\t%s has %s ", path, name);
	if (size < 0)
		say(-1);
	else
		printf("%zd %016llx\n", size,
		       (unsigned long long)hash_more(HASH_START, value,
						     (size_t)size));
}

/* Print a line for each attribute; none if the file system has no
 * attributes. */
static void say_attributes(int fd, const char *path)
{
	struct names names = {0};
	char list[4096];
	ssize_t size = fd < 0 ? 0 : flistxattr(fd, list, sizeof(list));

	if (size < 0 && errno != EOPNOTSUPP)
		printf("\t%s: %s\n", path, strerrorname_np(errno));
	for (ssize_t at = 0; at < size; at += (ssize_t)strlen(list + at) + 1)
		if (is_attribute(list + at))
			names_add(&names, list + at);
	names_sort(&names);
	for (size_t i = 0; i < names.count; i++)
		say_attribute(fd, path, names.at[i]);
	names_clear(&names);
}

static void say_file(int folder, const char *name, const char *path,
		     const struct stat *st)
{
	static char data[IO_PIECE];
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
	uint64_t hash = HASH_START, size = 0;
	char more[64];
	ssize_t got = -1;

	while (fd >= 0 && (got = read(fd, data, sizeof(data))) > 0) {
		hash = hash_more(hash, data, (size_t)got);
		size += (uint64_t)got;
	}
	if (got < 0)
		snprintf(more, sizeof(more), "%s", strerrorname_np(errno));
	else
		snprintf(more, sizeof(more), "%016llx%s",
			 (unsigned long long)hash,
			 size == (uint64_t)st->st_size ? "" : " cut short");
	say_stat(st, more);
	say_attributes(fd, path);
	if (fd >= 0)
		close(fd);
}

static void say_link(int folder, const char *name, const struct stat *st)
{
	char target[4096], more[sizeof(target) + 3];
	ssize_t length = readlinkat(folder, name, target, sizeof(target));

	if (length < 0)
		snprintf(more, sizeof(more), "%s", strerrorname_np(errno));
	else
		snprintf(more, sizeof(more), "-> %.*s", (int)length, target);
	say_stat(st, more);
}

/* The folder's names without "." and ".."; numbers and types of their entries
 * must be those of lstat(). */
static int list(int folder, struct names *names)
{
	DIR *dir = fdopendir(openat(folder, ".", O_RDONLY | O_CLOEXEC));
	struct dirent *entry;
	struct stat st;
	int error;

	if (!dir)
		return -1;
	while (errno = 0, (entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		names_add(names, entry->d_name);
		if (fstatat(folder, entry->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue; /* the walk will print why */
		if (entry->d_ino != st.st_ino)
			printf("\t%s: its entry has another inode's number\n",
			       entry->d_name);
		if (entry->d_type != DT_UNKNOWN &&
		    entry->d_type != IFTODT(st.st_mode))
			printf("\t%s: its entry has another type\n",
			       entry->d_name);
	}
	error = errno;
	closedir(dir);
	errno = error;
	names_sort(names);
	return error ? -1 : 0;
}

static void walk_folder(int folder, const char *path)
{
	struct names names = {0};

	if (list(folder, &names))
		printf("\t%s: %s\n", path, strerrorname_np(errno));
	for (size_t i = 0; i < names.count; i++) {
		char *below =
			text("%s%s%s", path, *path ? "/" : "", names.at[i]);
		struct stat st;
		int fd;

		printf("\t%s ", below);
		if (fstatat(folder, names.at[i], &st, AT_SYMLINK_NOFOLLOW)) {
			puts(strerrorname_np(errno));
		} else if (S_ISREG(st.st_mode)) {
			say_file(folder, names.at[i], below, &st);
		} else if (S_ISLNK(st.st_mode)) {
			say_link(folder, names.at[i], &st);
		} else {
			say_stat(&st, "");
			fd = openat(folder, names.at[i], O_RDONLY | O_CLOEXEC);
			say_attributes(fd, below);
			walk_folder(fd, below);
			close(fd);
		}
		free(below);
	}
	names_clear(&names);
}

void walk(const struct args *args)
{
	int folder = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	(void)args;
	if (folder < 0 || fstat(folder, &st)) {
		say(-1);
		return;
	}
	say_stat(&st, "");
	walk_folder(folder, "");
	close(folder);
}
