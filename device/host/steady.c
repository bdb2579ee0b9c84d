// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * steady: has a tool that makes a file system write the same bytes each time.
 *
 * It is loaded into the tool by LD_PRELOAD, on the host, in the root of the
 * board's tools. What of a folder is no part of its content, and which tools
 * carry into what they make, becomes a function of the content:
 *
 * - readdir() tells the entries of a folder by name, not in the host's order;
 * - stat(), lstat() and fstat(), and those of 64 bits, tell the time of
 *   modification, in whole seconds, for those of access and of change too,
 *   which reading and copying a file move; a symbolic link's, which few
 *   programs can set, is 0;
 * - gettimeofday() tells 0, for tools that write when they ran;
 * - uuid_generate_random() gives NANDLAB_TREE, 32 hexadecimal digits, which
 *   nandlab takes from the tree.
 *
 * Needs glibc 2.33 or newer, where stat() is a symbol; one folder is read at a
 * time or several, but none is rewound.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>

#define TREE_VARIABLE "NANDLAB_TREE"
#define UUID_BYTES    16

/* A folder that is being read: its entries by name, and the next to tell. */
struct listing {
	DIR *dir;
	struct dirent **entries;
	size_t count, next;
	struct listing *others;
};

static struct listing *listings;

static void give_up(const char *what)
{
	fprintf(stderr, "steady: %s: %s\n", what, strerror(errno));
	exit(EXIT_FAILURE);
}

static void *real(const char *symbol)
{
	void *found = dlsym(RTLD_NEXT, symbol);

	if (!found) {
		errno = ENOSYS;
		give_up(symbol);
	}
	return found;
}

static void *allocated(void *memory)
{
	if (!memory)
		give_up("memory");
	return memory;
}

static int by_name(const void *a, const void *b)
{
	const struct dirent *const *left = a, *const *right = b;

	return strcmp((*left)->d_name, (*right)->d_name);
}

static struct listing *listed(DIR *dir)
{
	struct dirent *(*read_entry)(DIR *) = real("readdir");
	struct listing *made = allocated(calloc(1, sizeof(*made)));
	struct dirent *entry;

	made->dir = dir;
	errno = 0;
	while ((entry = read_entry(dir))) {
		size_t size = (made->count + 1) * sizeof(entry);
		struct dirent *copy = allocated(malloc(entry->d_reclen));

		memcpy(copy, entry, entry->d_reclen);
		made->entries = allocated(realloc(made->entries, size));
		made->entries[made->count++] = copy;
	}
	if (errno)
		give_up("readdir");
	if (made->count)
		qsort(made->entries, made->count, sizeof(*made->entries),
		      by_name);
	made->others = listings;
	listings = made;
	return made;
}

struct dirent *readdir(DIR *dir)
{
	struct listing *at = listings;

	while (at && at->dir != dir)
		at = at->others;
	if (!at)
		at = listed(dir);
	return at->next < at->count ? at->entries[at->next++] : NULL;
}

int closedir(DIR *dir)
{
	int (*close_folder)(DIR *) = real("closedir");
	struct listing **at = &listings;

	while (*at && (*at)->dir != dir)
		at = &(*at)->others;
	if (*at) {
		struct listing *done = *at;

		*at = done->others;
		while (done->count)
			free(done->entries[--done->count]);
		free(done->entries);
		free(done);
	}
	return close_folder(dir);
}

static void set_one_time(mode_t mode, struct timespec *modified,
			 struct timespec *accessed, struct timespec *changed)
{
	modified->tv_nsec = 0;
	if (S_ISLNK(mode))
		modified->tv_sec = 0;
	*accessed = *changed = *modified;
}

#define TELLS_ONE_TIME(name, type, what)                              \
	int name(what, type *restrict told)                           \
	{                                                             \
		int (*ask)(what, type *) = real(#name);               \
		int result = ask(asked, told);                        \
                                                                      \
		if (!result)                                          \
			set_one_time(told->st_mode, &told->st_mtim,   \
				     &told->st_atim, &told->st_ctim); \
		return result;                                        \
	}

/* Tools of 64-bit offsets call the latter three by their own names. */
TELLS_ONE_TIME(stat, struct stat, const char *restrict asked)
TELLS_ONE_TIME(lstat, struct stat, const char *restrict asked)
TELLS_ONE_TIME(fstat, struct stat, int asked)
TELLS_ONE_TIME(stat64, struct stat64, const char *restrict asked)
TELLS_ONE_TIME(lstat64, struct stat64, const char *restrict asked)
TELLS_ONE_TIME(fstat64, struct stat64, int asked)

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	(void)zone;
	memset(now, 0, sizeof(*now));
	return 0;
}

void uuid_generate_random(unsigned char uuid[UUID_BYTES])
{
	const char *digits = getenv(TREE_VARIABLE);

	for (int i = 0; i < UUID_BYTES; i++) {
		unsigned int byte;

		if (!digits || sscanf(digits + 2 * i, "%2x", &byte) != 1) {
			errno = EINVAL;
			give_up(TREE_VARIABLE);
		}
		uuid[i] = byte;
	}
}
