// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * filetree make: a tree that is drawn is made.
 *
 * The tree is drawn twice: once to see that it can be made at all, once to
 * make it. So what cannot be made is refused before anything is.
 */
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "command.h"
#include "diag.h"
#include "digest.h"
#include "stop.h"

struct make {
	struct payload payload;
	struct sha256 sha;
	struct calls *calls;
	bool top_is_there;
	bool dry; /* nothing is made, the digest is that of what would be */
};

static int count_folder(void *context, struct grower *grower, uint64_t depth)
{
	(void)context;
	tally_folder(&grower->tally, depth);
	return 0;
}

static int count_file(void *context, struct grower *grower, uint64_t size)
{
	(void)context;
	grower->tally.files++;
	grower->tally.bytes += size;
	return 0;
}

static int make_folder(void *context, struct grower *grower, uint64_t depth)
{
	struct make *make = context;

	if (!make->dry && !(depth == 1 && make->top_is_there) &&
	    call_mkdir(make->calls, grower->path.text))
		return -1;
	digest_folder(&make->sha, path_below(&grower->path));
	tally_folder(&grower->tally, depth);
	return 0;
}

/* The next @size bytes of the stream: into the file, unless it is none. */
static int put(struct make *make, int fd, uint64_t size, struct sum *sum,
	       const char *path)
{
	payload_align(&make->payload);
	while (size) {
		size_t part = size < PIECE ? (size_t)size : PIECE;
		const void *data = payload_next(&make->payload, part);

		if (fd >= 0 && call_write(make->calls, fd, data, part, path))
			return -1;
		sum_add(sum, data, part);
		size -= part;
	}
	return 0;
}

static int make_file(void *context, struct grower *grower, uint64_t size)
{
	struct make *make = context;
	const char *path = grower->path.text;
	uint64_t before = make->calls->written;
	struct sum sum;
	int fd = -1, error;

	if (!make->dry) {
		fd = call_create(make->calls, path);
		if (fd < 0)
			return -1;
	}
	grower->tally.files++;
	sum_open(&sum);
	error = put(make, fd, size, &sum, path);
	grower->tally.bytes += make->dry ? size : make->calls->written - before;
	if (fd >= 0 && call_close(make->calls, fd, path))
		error = -1;
	if (!error)
		digest_file(&make->sha, path_below(&grower->path), size,
			    sum_close(&sum));
	return error;
}

/* 0 if DIR can be the top: it is not there, or an empty folder. */
static int check_top(struct make *make, const char *top)
{
	const struct dirent *entry;
	struct stat st;
	DIR *folder;
	int entries = 0;

	if (stat(top, &st)) {
		make->top_is_there = false;
		return errno == ENOENT ? 0 : fail_errno("look at", top);
	}
	make->top_is_there = true;
	folder = opendir(top);
	if (!folder) {
		fail_errno("read the folder", top);
		return diag_errno() == ENOTDIR ? REFUSED : -1;
	}
	while ((entry = readdir(folder)))
		entries += strcmp(entry->d_name, ".") != 0 &&
			   strcmp(entry->d_name, "..") != 0;
	closedir(folder);
	if (!entries)
		return 0;
	fail("'%s' is not empty: give a folder that is not there, or an empty "
	     "one",
	     top);
	return REFUSED;
}

static void tell_part(const struct grower *grower, const struct tally *whole,
		      const char *top, bool top_was_there)
{
	const struct tally *made = &grower->tally;
	const char *how = top_was_there ? " --keep-top" : "";

	if (!made->folders)
		return;
	fail("made %llu of %llu folders, %llu of %llu files, %llu of %llu "
	     "bytes; they are left for 'filetree delete %s%s'",
	     (unsigned long long)made->folders,
	     (unsigned long long)whole->folders,
	     (unsigned long long)made->files, (unsigned long long)whole->files,
	     (unsigned long long)made->bytes, (unsigned long long)whole->bytes,
	     top, how);
}

/* Draw the tree again, and make it; dry: only its digest. */
static int make_tree(struct request *request, struct make *make,
		     struct grower *grower, struct found *found)
{
	int error;

	request_payload(request, &make->payload);
	sha256_open(&make->sha);
	error = tree_grow(&request->tree, grower);
	if (!error)
		sha256_close(&make->sha, found->digest);
	payload_close(&make->payload);
	return error;
}

int make_run(struct request *request, struct found *found)
{
	struct make make = {.calls = &found->calls, .dry = request->dry_run};
	struct grower plan = {.folder = count_folder, .file = count_file};
	struct grower grower = {
		.folder = make_folder,
		.file = make_file,
		.context = &make,
	};
	int error;

	if (path_open(&plan.path, request->place) ||
	    path_open(&grower.path, request->place) ||
	    tree_grow(&request->tree, &plan))
		return stop_wanted() ? -1 : REFUSED;
	found->tally = plan.tally;
	if (make.dry && !request->digest)
		return 0;
	found->tally = grower.tally; /* nothing yet */
	error = make.dry ? 0 : check_top(&make, grower.path.text);
	if (error)
		return error;
	error = make_tree(request, &make, &grower, found);
	found->tally = grower.tally;
	if (error)
		tell_part(&grower, &plan.tally, request->place,
			  make.top_is_there);
	return error;
}
