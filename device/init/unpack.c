// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Init unpacks a job by itself. Ferry and cpio could do it, but on a board that
 * was just restored no code is translated yet, and to translate code once costs
 * the emulator as much as to run it many times. The job's own steps use little
 * of theirs.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "channel.h"
#include "unpack.h"

#define MEMORY	   "/dev/mem"
#define MAGIC	   0x4f47524143444e4eull /* "NNDCARGO" */
#define HEAD_BYTES 4096
#define NO_JOB	   "the host left no job"
#define NO_ARCHIVE "the job is no archive of files and folders"
#define LAST	   "TRAILER!!!"

struct head {
	uint64_t magic;
	uint64_t bytes;
};

/* The head of an entry in the format "newc": its numbers are in hexadecimal.
 * Then comes the entry's name, then its content, each filled up to a multiple
 * of 4 bytes. */
struct entry {
	char magic[6];
	char inode[8];
	char mode[8];
	char owner[2][8];
	char links[8];
	char mtime[8];
	char bytes[8];
	char device[2][8];
	char special[2][8];
	char name_bytes[8];
	char checksum[8];
};

_Static_assert(sizeof(struct entry) == 110, "head of an entry, newc");

static uint64_t number_of(const char digits[8])
{
	char text[9] = {0};

	memcpy(text, digits, 8);
	return strtoull(text, NULL, 16) & UINT32_MAX;
}

static uint64_t filled_up(uint64_t bytes)
{
	return (bytes + 3) & ~3ull;
}

static void write_file(const char *name, mode_t mode, const char *from,
		       uint64_t bytes)
{
	int file = open(name, O_WRONLY | O_CREAT | O_TRUNC, mode);

	while (file >= 0 && bytes) {
		ssize_t done = write(file, from, bytes);

		if (done <= 0)
			die(name);
		from += done;
		bytes -= (uint64_t)done;
	}
	if (file < 0 || close(file))
		die(name);
}

/* Bytes of the entry at @at, of @left that there are; 0 if it is the last. */
static uint64_t unpack_entry(const char *at, uint64_t left)
{
	const struct entry *entry = (const void *)at;
	const char *name = at + sizeof(*entry);
	uint64_t name_bytes, content, bytes;
	mode_t mode;

	errno = EINVAL;
	if (left < sizeof(*entry))
		die(NO_ARCHIVE);
	name_bytes = number_of(entry->name_bytes);
	content = filled_up(sizeof(*entry) + name_bytes);
	bytes = number_of(entry->bytes);
	if (!name_bytes || content + filled_up(bytes) > left ||
	    name[name_bytes - 1])
		die(NO_ARCHIVE);
	if (!strcmp(name, LAST))
		return 0;
	mode = (mode_t)number_of(entry->mode);
	if (S_ISREG(mode))
		write_file(name, mode & 0777, at + content, bytes);
	else if (!S_ISDIR(mode))
		die(NO_ARCHIVE);
	else if (mkdir(name, mode & 0777) && errno != EEXIST)
		die(name);
	return content + filled_up(bytes);
}

static void *map(int memory, uint64_t address, uint64_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ, MAP_SHARED, memory,
			(off_t)address);

	if (at == MAP_FAILED)
		die(MEMORY);
	return at;
}

void unpack_job(uint64_t address)
{
	int memory = open(MEMORY, O_RDONLY);
	struct head *head;
	uint64_t bytes, at = 0, taken;
	char *archive;

	if (memory < 0 || chdir("/"))
		die(MEMORY);
	head = map(memory, address, HEAD_BYTES);
	bytes = head->magic == MAGIC ? head->bytes : 0;
	munmap(head, HEAD_BYTES);
	errno = EINVAL;
	if (!bytes)
		die(NO_JOB);
	archive = map(memory, address + HEAD_BYTES, bytes);
	do {
		taken = unpack_entry(archive + at, bytes - at);
		at += taken;
	} while (taken);
	munmap(archive, bytes);
	close(memory);
}
