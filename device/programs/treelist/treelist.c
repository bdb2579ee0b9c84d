// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * treelist: lists all that is in a directory, a line of JSON for each entry.
 *
 * Names may hold any byte, so paths and the targets of symbolic links are
 * hexadecimal; the directory's own path is empty. With --sums, each file is
 * read to its end, and its CRC-32 and the number of bytes read are printed:
 * they show what the size in an inode does not.
 */
#define _XOPEN_SOURCE 700
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checked.h"
#include "diag.h"
#include "json.h"
#include "options.h"

#define DEPTH_FDS 16
#define PIECE	  65536
#define CRC_POLY  0xedb88320u

struct request {
	const char *directory;
	bool sums;
};

/* nftw() passes no context to its callback. */
static struct request request;
static uint32_t crc_table[256];

static int take_directory(void *context, const char *value)
{
	struct request *r = context;

	if (r->directory)
		return fail("%s: one directory is enough", value);
	r->directory = value;
	return 0;
}

static int take_sums(void *context, const char *value)
{
	(void)value;
	((struct request *)context)->sums = true;
	return 0;
}

static const struct option_decl options[] = {
	{NULL, "DIR", "the directory", take_directory},
	{"sums", NULL, "read each file, and print its CRC-32", take_sums},
};

static void make_crc_table(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t crc = i;

		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? CRC_POLY : 0);
		crc_table[i] = crc;
	}
}

static int sum(const char *path, uint64_t *bytes, uint32_t *crc)
{
	static unsigned char piece[PIECE];
	int fd = checked_open(path, O_RDONLY, 0);
	ssize_t got;

	if (fd < 0)
		return -1;
	*bytes = 0;
	*crc = ~0u;
	while ((got = read(fd, piece, sizeof(piece))) > 0) {
		for (ssize_t i = 0; i < got; i++)
			*crc = crc_table[(*crc ^ piece[i]) & 0xff] ^ *crc >> 8;
		*bytes += (uint64_t)got;
	}
	*crc = ~*crc;
	if (got < 0)
		fail_errno("read", path);
	return checked_close(fd, path) || got < 0 ? -1 : 0;
}

static void put_hex(struct json *json, const char *key, const char *bytes,
		    size_t count)
{
	static char hex[2 * PATH_MAX + 1];

	for (size_t i = 0; i < count; i++)
		snprintf(hex + 2 * i, 3, "%02x", (unsigned char)bytes[i]);
	hex[2 * count] = '\0';
	json_text(json, key, hex);
}

static int put_target(struct json *json, const char *path)
{
	static char target[PATH_MAX];
	ssize_t length = readlink(path, target, sizeof(target));

	if (length < 0)
		return fail_errno("read the link", path);
	put_hex(json, "target_hex", target, (size_t)length);
	return 0;
}

static int put_sum(struct json *json, const char *path)
{
	uint64_t bytes;
	uint32_t crc;

	if (sum(path, &bytes, &crc))
		return -1;
	json_count(json, "read_bytes", bytes);
	json_count(json, "crc32", crc);
	return 0;
}

static int entry(const char *path, const struct stat *st, int type,
		 struct FTW *at)
{
	const char *name = path + strlen(request.directory);
	struct json json = {.out = stdout};

	(void)at;
	if (type == FTW_DNR || type == FTW_NS)
		return fail_errno("read", path);
	name += *name == '/';
	json_object(&json, NULL);
	put_hex(&json, "path_hex", name, strlen(name));
	json_count(&json, "mode", st->st_mode);
	json_count(&json, "uid", st->st_uid);
	json_count(&json, "gid", st->st_gid);
	json_count(&json, "bytes", (uint64_t)st->st_size);
	json_signed(&json, "mtime_s", st->st_mtime);
	json_count(&json, "inode", st->st_ino);
	if (S_ISLNK(st->st_mode) && put_target(&json, path))
		return -1;
	if (S_ISREG(st->st_mode) && request.sums && put_sum(&json, path))
		return -1;
	json_end(&json);
	return json_finish(&json) ? -1 : 0;
}

int main(int argc, char **argv)
{
	bool helped;

	(void)argc;
	diag_program = "treelist";
	if (options_walk(options, sizeof(options) / sizeof(*options), argv + 1,
			 &request, "[--sums] DIR",
			 "Lists all that is in a directory.", &helped))
		return helped ? EXIT_OK : EXIT_USAGE;
	if (!request.directory) {
		fail("DIR is missing; see --help");
		return EXIT_USAGE;
	}
	make_crc_table();
	errno = 0;
	if (nftw(request.directory, entry, DEPTH_FDS, FTW_PHYS)) {
		if (!diag_errno())
			fail_errno("read", request.directory);
		return EXIT_RUN_FAILED;
	}
	return EXIT_OK;
}
