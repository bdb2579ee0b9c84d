// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fileload interleave: cold data and hot data by turns, so that they share
 * erase blocks.
 *
 * A step writes the next part of a big file, then all of a small one. The steps
 * that make the big file come first; then it is overwritten from its begin to
 * its end, as many rounds as asked for, with the small one after each part.
 */
#include <fcntl.h>
#include <string.h>

#include "diag.h"
#include "load.h"
#include "stop.h"

/* A file that is written part by part, and stays open or does not. */
struct target {
	const char *path;
	int fd; /* -1: it is not open */
	bool there;
};

static int ready(struct part *part, struct target *target)
{
	if (target->fd < 0)
		target->fd = target->there
				     ? part_open_file(part, target->path, 0)
				     : part_create(part, target->path);
	if (target->fd < 0)
		return -1;
	target->there = true;
	return 0;
}

static int leave(struct part *part, struct target *target)
{
	int fd = target->fd;

	target->fd = -1;
	return fd < 0 ? 0 : part_close_file(part, fd, target->path);
}

static int put(struct load *load, struct part *part, struct target *target,
	       uint64_t bytes, uint64_t at, bool synced)
{
	size_t size = (size_t)bytes;

	if (ready(part, target) ||
	    part_write(part, target->fd, payload_next(&load->payload, size),
		       size, at, target->path))
		return -1;
	if (synced && part_fsync(part, target->fd, target->path))
		return -1;
	return load->request->each ? leave(part, target) : 0;
}

/* Each part of the big file, from its begin to its end. */
static int pass(struct load *load, struct part *part, struct target files[2])
{
	const struct request *request = load->request;

	for (uint64_t i = 0; i < request->steps; i++) {
		bool synced = load_fsync_due(load);

		if (stop_wanted() ||
		    put(load, part, &files[0], request->big_step,
			i * request->big_step, synced) ||
		    put(load, part, &files[1], request->small_bytes, 0, synced))
			return -1;
	}
	return 0;
}

static int update(struct load *load, struct part *part, struct target files[2])
{
	for (uint64_t i = 0; i < load->request->rounds; i++)
		if (pass(load, part, files))
			return -1;
	return leave(part, &files[0]) | leave(part, &files[1]);
}

int interleave_run(struct request *request, struct load *load)
{
	struct target files[2] = {
		{.path = request->place, .fd = -1},
		{.path = request->small, .fd = -1},
	};
	uint64_t big = request->big_step, small = request->small_bytes;
	struct part *part;
	int error;

	if (!strcmp(request->place, request->small)) {
		fail("BIG and SMALL are one file, '%s': give two",
		     request->place);
		return EXIT_USAGE;
	}
	load_open(load, request, (size_t)(big > small ? big : small));
	load->held = request->steps * big + small;
	part = load_begin(load, 0, "writing", true);
	error = load_end(load, part, request->place, pass(load, part, files));
	if (error)
		return EXIT_RUN_FAILED;
	part = load_begin(load, 1, "updating", false);
	error = load_end(load, part, request->place, update(load, part, files));
	return error ? EXIT_RUN_FAILED : EXIT_OK;
}
