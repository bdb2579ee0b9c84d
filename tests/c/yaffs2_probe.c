// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What no shell can ask of a file system, for tests/test_yaffs2.py:
 *   map FILE       write to a file through a shared mapping, past its old data
 *   readdir DIR    read a directory while half of it goes and more comes
 * Prints one line and exits 0 if all is as it must be.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE	3001
#define ENTRIES 600

static void demand(int truth, const char *what)
{
	if (truth)
		return;
	perror(what);
	exit(1);
}

static int map(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644), i;
	char piece[PIECE], *mapped;

	demand(fd >= 0, "open");
	memset(piece, 'a', PIECE);
	for (i = 0; i < 10; i++)
		demand(write(fd, piece, PIECE) == PIECE, "write");
	demand(!ftruncate(fd, 20 * PIECE), "ftruncate");
	mapped = mmap(NULL, 20 * PIECE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		      0);
	demand(mapped != MAP_FAILED, "mmap");
	demand(mapped[10 * PIECE - 1] == 'a' && !mapped[10 * PIECE], "hole");
	memset(mapped + 5 * PIECE, 'b', 10 * PIECE);
	demand(!msync(mapped, 20 * PIECE, MS_SYNC), "msync");
	demand(pread(fd, piece, PIECE, 14 * PIECE) == PIECE, "pread");
	for (i = 0; i < PIECE; i++)
		demand(piece[i] == 'b', "what was mapped is what is read");
	demand(!munmap(mapped, 20 * PIECE) && !close(fd), "close");
	printf("mapped\n");
	return 0;
}

static void name_of(char *name, const char *dir, char kind, int i)
{
	sprintf(name, "%s/%c%0100d", dir, kind, i); /* several getdents */
}

/* Odd entries stay, even ones go; a link's other name is removed as well. */
static void change(const char *dir)
{
	char name[256], other[256];
	int i;

	for (i = 0; i < ENTRIES; i += 2) {
		name_of(name, dir, 'f', i);
		demand(!unlink(name), "unlink");
		name_of(other, dir, 'n', i);
		demand(close(open(other, O_CREAT | O_WRONLY, 0644)) == 0,
		       other);
	}
	sprintf(name, "%s/../first", dir);
	demand(!unlink(name), "unlink the first name of f1");
}

int main(int argc, char **argv)
{
	static int seen[ENTRIES];
	char name[256], first[256];
	struct dirent *entry;
	int i, count = 0;
	DIR *dir;

	demand(argc == 3, "usage: map FILE | readdir DIR");
	if (!strcmp(argv[1], "map"))
		return map(argv[2]);
	demand(!mkdir(argv[2], 0755), "mkdir");
	for (i = 0; i < ENTRIES; i++) {
		name_of(name, argv[2], 'f', i);
		sprintf(first, "%s/../first", argv[2]);
		if (i == 1) {
			close(open(first, O_CREAT | O_WRONLY, 0644));
			demand(!link(first, name), "link");
		} else {
			demand(!close(open(name, O_CREAT | O_WRONLY, 0644)),
			       name);
		}
	}
	dir = opendir(argv[2]);
	demand(!!dir, "opendir");
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == 'f')
			seen[atoi(entry->d_name + 1)]++;
		if (++count == 30)
			change(argv[2]);
	}
	for (i = 1; i < ENTRIES; i += 2)
		demand(seen[i] == 1, "an entry that stays is seen once");
	for (i = 0; i < ENTRIES; i += 2)
		demand(seen[i] <= 1, "an entry that goes is seen once at most");
	rewinddir(dir);
	for (count = 0; readdir(dir); count++)
		;
	demand(count == ENTRIES + 2, "all are there after a rewind");
	demand(!closedir(dir), "closedir");
	printf("read\n");
	return 0;
}
