// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * filetree read: whole files, all of a tree with its digest, or those of a
 * list.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checked.h"
#include "command.h"
#include "diag.h"
#include "digest.h"
#include "stop.h"
#include "walk.h"

/* Read an open file to its end; -1, or its bytes. */
static long long drain(struct calls *calls, int fd, struct sum *sum,
		       const char *path)
{
	static unsigned char piece[PIECE];
	long long bytes = 0;
	long got;

	while ((got = call_read(calls, fd, piece, sizeof(piece), path)) > 0) {
		if (sum)
			sum_add(sum, piece, (size_t)got);
		bytes += got;
	}
	return got < 0 ? -1 : bytes;
}

static int read_file(struct sha256 *sha, struct walk *walk,
		     const struct stat *st)
{
	const char *path = walk->path.text;
	int fd = call_open(walk->calls, path, O_RDONLY | O_NOFOLLOW);
	struct sum sum;
	long long bytes;

	if (fd < 0)
		return -1;
	sum_open(&sum);
	bytes = drain(walk->calls, fd, &sum, path);
	if (call_close(walk->calls, fd, path) || bytes < 0)
		return -1;
	if (bytes != (long long)st->st_size)
		return fail("'%s' has %lld bytes by lstat, and %lld were read",
			    path, (long long)st->st_size, bytes);
	digest_file(sha, path_below(&walk->path), (uint64_t)bytes,
		    sum_close(&sum));
	return 0;
}

static int read_link(struct sha256 *sha, const struct walk *walk)
{
	char target[PATH_MAX];
	ssize_t length = readlink(walk->path.text, target, sizeof(target) - 1);

	if (length < 0)
		return fail_errno("read the link", walk->path.text);
	target[length] = '\0';
	digest_link(sha, path_below(&walk->path), target);
	return 0;
}

static int read_entry(void *context, struct walk *walk, const char *name,
		      const struct stat *st)
{
	(void)name;
	if (S_ISREG(st->st_mode))
		return read_file(context, walk, st);
	if (S_ISLNK(st->st_mode))
		return read_link(context, walk);
	digest_other(context, path_below(&walk->path));
	return 0;
}

static int enter(void *context, struct walk *walk)
{
	digest_folder(context, path_below(&walk->path));
	return 0;
}

static int read_listed(struct found *found, int root, const char *path)
{
	int fd = call_open_within(&found->calls, root, path);
	long long bytes;

	if (fd < 0)
		return -1;
	bytes = drain(&found->calls, fd, NULL, path);
	if (call_close(&found->calls, fd, path) || bytes < 0)
		return -1;
	found->tally.files++;
	found->tally.bytes += (uint64_t)bytes;
	moments_add(&found->tally.size_each, (uint64_t)bytes);
	return 0;
}

static int read_list(const struct request *request, struct found *found)
{
	char *content = slurp(request->list), *rest = content;
	const char *line;
	int root, error = 0;
	unsigned long number = 0;

	if (!content)
		return fail_errno("read the list", request->list);
	root = call_open(&found->calls, request->place, O_RDONLY | O_DIRECTORY);
	while (root >= 0 && !error && (line = strsep(&rest, "\n"))) {
		number++;
		if (stop_wanted())
			error = -1;
		else if (*line && (error = read_listed(found, root, line)))
			fail("that is line %lu of '%s', whose paths are taken "
			     "within '%s'",
			     number, request->list, request->place);
	}
	if (root < 0 || call_close(&found->calls, root, request->place))
		error = -1;
	free(content);
	return error;
}

int read_run(struct request *request, struct found *found)
{
	struct sha256 sha;
	struct walk walk = {
		.calls = &found->calls,
		.enter = enter,
		.entry = read_entry,
		.context = &sha,
	};
	int error;

	if (request->list)
		return read_list(request, found);
	sha256_open(&sha);
	error = walk_run(&walk, request->place);
	if (!error)
		sha256_close(&sha, found->digest);
	found->tally = walk.tally;
	return error;
}
