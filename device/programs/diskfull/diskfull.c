// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * diskfull: fills a directory until the file system refuses, and checks whether
 * anything was lost.
 *
 *   fill DIR     writes files of --size bytes, none of which compresses, until
 *                there are --limit of them or a call fails; JSON says how many
 *                are complete, how much of the last was taken, what failed
 *                with which error. With --sync, each file is synced. With
 *                --limit, fewer files are a failure: who asks for so many
 *                goes on as if all were there.
 *   verify DIR   reads --files files, and --partial bytes of one more, and
 *                fails at the first byte that is not what fill wrote.
 *   empty DIR    deletes all files of the directory while it reads it, until
 *                a reading shows none; JSON says how many files, and how many
 *                readings that took: 1, if each shows all that is there.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checked.h"
#include "diag.h"
#include "json.h"
#include "options.h"
#include "takes.h"
#include "payload.h"

#define PIECE 4096

#define MOST  1e18 /* of any number that is given */

struct request {
	const char *action;
	const char *directory;
	uint64_t size;
	uint64_t limit; /* 0: none */
	uint64_t files;
	uint64_t partial;
	bool sync;
	struct payload payload;
};

/* How a fill ended. */
struct filled {
	uint64_t files;	    /* complete ones */
	uint64_t partial;   /* bytes that the last, incomplete one took */
	const char *failed; /* the call, or NULL */
	int error;
};

/* Every file begins at another offset in the data. */
static const void *data_of(struct request *request, uint64_t file, uint64_t at,
			   size_t size)
{
	request->payload.at = (file * 1009 + at) % PAYLOAD_REPEAT;
	return payload_next(&request->payload, size);
}

static size_t piece_at(const struct request *request, uint64_t at)
{
	uint64_t left = request->size - at;

	return left < PIECE ? left : PIECE;
}

static void failed(struct filled *filled, const char *call)
{
	filled->failed = call;
	filled->error = errno;
}

static void write_file(struct request *request, int fd, struct filled *filled)
{
	uint64_t at = 0;

	while (at < request->size) {
		size_t size = piece_at(request, at);
		ssize_t done = write(
			fd, data_of(request, filled->files, at, size), size);

		if (done < 0) {
			failed(filled, "write");
			filled->partial = at;
			return;
		}
		at += (uint64_t)done;
	}
	if (request->sync && fsync(fd))
		failed(filled, "fsync");
}

static void fill(struct request *request, int folder, struct filled *filled)
{
	while (!request->limit || filled->files < request->limit) {
		char name[24];
		int fd;

		snprintf(name, sizeof(name), "f%06llu",
			 (unsigned long long)filled->files);
		fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL, 0644);
		if (fd < 0) {
			failed(filled, "open");
			return;
		}
		write_file(request, fd, filled);
		if (close(fd) && !filled->failed)
			failed(filled, "close");
		if (filled->failed)
			return;
		filled->files++;
	}
}

static int do_fill(struct request *request, int folder)
{
	struct json json = {.out = stdout};
	struct filled filled = {0};

	fill(request, folder, &filled);
	json_object(&json, NULL);
	json_text(&json, "program", "diskfull");
	json_count(&json, "files", filled.files);
	json_count(&json, "partial_bytes", filled.partial);
	json_count(&json, "bytes",
		   filled.files * request->size + filled.partial);
	json_text(&json, "failed", filled.failed);
	json_text(&json, "error",
		  filled.failed ? strerrorname_np(filled.error) : NULL);
	json_end(&json);
	if (json_finish(&json))
		return -1;
	if (request->limit && filled.failed)
		return fail("%llu of %llu files fit in '%s': %s: %s",
			    (unsigned long long)filled.files,
			    (unsigned long long)request->limit,
			    request->directory, filled.failed,
			    strerror(filled.error));
	return 0;
}

static int verify_file(struct request *request, int folder, uint64_t file,
		       uint64_t size)
{
	static unsigned char got[PIECE];
	uint64_t at = 0;
	char name[24];
	int fd, error = 0;

	snprintf(name, sizeof(name), "f%06llu", (unsigned long long)file);
	fd = openat(folder, name, O_RDONLY);
	if (fd < 0)
		return fail_errno("open", name);
	while (!error && at < size) {
		size_t piece = size - at < PIECE ? size - at : PIECE;

		error = checked_read(fd, got, piece, name);
		if (!error &&
		    memcmp(got, data_of(request, file, at, piece), piece))
			error = fail("'%s' is not as written: bytes %llu+%zu",
				     name, (unsigned long long)at, piece);
		at += piece;
	}
	if (!error && size == request->size && read(fd, got, 1) != 0)
		error = fail("'%s' is longer than written", name);
	close(fd);
	return error;
}

static int do_verify(struct request *request, int folder)
{
	for (uint64_t file = 0; file < request->files; file++)
		if (verify_file(request, folder, file, request->size))
			return -1;
	if (!request->partial)
		return 0;
	return verify_file(request, folder, request->files, request->partial);
}

/* Deletes what one reading of the directory shows; returns how many, or -1. */
static long empty_once(const struct request *request, int folder)
{
	DIR *dir = fdopendir(openat(folder, ".", O_RDONLY));
	struct dirent *entry;
	long deleted = 0;

	if (!dir)
		return fail_errno("list", request->directory);
	while (deleted >= 0 && (entry = readdir(dir))) {
		if (*entry->d_name != 'f')
			continue;
		if (unlinkat(folder, entry->d_name, 0))
			deleted = fail_errno("delete", entry->d_name);
		else
			deleted++;
	}
	closedir(dir);
	return deleted;
}

/* One reading should show all files; read until it shows none, and count. */
static int do_empty(struct request *request, int folder)
{
	struct json json = {.out = stdout};
	uint64_t deleted = 0, readings = 0;
	long more;

	while ((more = empty_once(request, folder)) > 0) {
		deleted += (uint64_t)more;
		readings++;
	}
	if (more < 0)
		return -1;
	json_object(&json, NULL);
	json_text(&json, "program", "diskfull");
	json_count(&json, "deleted", deleted);
	json_count(&json, "readings", readings);
	json_end(&json);
	return json_finish(&json);
}

TAKE_COUNT(size, "size", 0, MOST)
TAKE_COUNT(limit, "limit", 0, MOST)
TAKE_COUNT(files, "files", 0, MOST)
TAKE_COUNT(partial, "partial", 0, MOST)

static int on_sync(void *context, const char *value)
{
	(void)value;
	((struct request *)context)->sync = true;
	return 0;
}

static int on_argument(void *context, const char *value)
{
	struct request *request = context;

	if (request->directory)
		return fail("'%s': two arguments are enough", value);
	if (request->action)
		request->directory = value;
	else
		request->action = value;
	return 0;
}

static const struct option_decl options[] = {
	{"size", "BYTES", "size of each file (20011)", on_size},
	{"limit", "N", "fill: so many files (0: any number)", on_limit},
	{"sync", NULL, "fill: sync each file", on_sync},
	{"files", "N", "verify: complete files", on_files},
	{"partial", "BYTES", "verify: bytes of the file after those",
	 on_partial},
	{NULL, NULL, "", on_argument},
};

static const struct {
	const char *name;
	int (*run)(struct request *request, int folder);
} actions[] = {
	{"fill", do_fill},
	{"verify", do_verify},
	{"empty", do_empty},
};

static int act(struct request *request)
{
	int folder, error;

	for (size_t i = 0; i < sizeof(actions) / sizeof(*actions); i++) {
		if (strcmp(actions[i].name, request->action))
			continue;
		folder = checked_open(request->directory,
				      O_RDONLY | O_DIRECTORY, 0);
		if (folder < 0)
			return EXIT_RUN_FAILED;
		payload_open(&request->payload, PAYLOAD_RANDOM, 1, 0.0, PIECE);
		error = actions[i].run(request, folder);
		payload_close(&request->payload);
		close(folder);
		return error ? EXIT_RUN_FAILED : EXIT_OK;
	}
	fail("'%s' is none of fill, verify, empty", request->action);
	return EXIT_USAGE;
}

int main(int argc, char **argv)
{
	struct request request = {.size = 20011};
	bool helped;

	(void)argc;
	diag_program = "diskfull";
	if (options_walk(options, sizeof(options) / sizeof(*options), argv + 1,
			 &request, "[OPTION...] ACTION DIRECTORY",
			 "Fills a directory, and checks what was lost.\n"
			 "ACTION is fill, verify or empty.",
			 &helped))
		return helped ? EXIT_OK : EXIT_USAGE;
	if (!request.directory) {
		fail("ACTION and DIRECTORY are missing; see --help");
		return EXIT_USAGE;
	}
	return act(&request);
}
