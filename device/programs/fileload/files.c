// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fileload rewrite and cycle: files of a folder, f0000, f0001 ..., each written
 * whole.
 *
 * rewrite makes them, then writes those that are drawn anew, each with the size
 * that it has: data that change beside data that stay. cycle makes them all and
 * deletes them all, round after round.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "diag.h"
#include "load.h"
#include "stop.h"

/* The sizes of all files, as drawn; NULL after a message if they hold nothing.
 */
static uint64_t *draw_sizes(struct load *load)
{
	const struct request *request = load->request;
	struct draw size = request->size;
	uint64_t *sizes = allocate(request->files, sizeof(*sizes), "the files");

	for (uint64_t i = 0; i < request->files; i++)
		load->held += sizes[i] = draw_next(&size, &load->random);
	if (load->held)
		return sizes;
	fail("--size: all files were drawn with 0 bytes; give larger sizes");
	free(sizes);
	return NULL;
}

static char *path_of(const struct request *request, uint64_t file)
{
	return text("%s/f%04llu", request->place, (unsigned long long)file);
}

/* One file, made or written anew. */
static int write_file(struct load *load, struct part *part, uint64_t file,
		      uint64_t size, bool made)
{
	const struct request *request = load->request;
	char *path = path_of(request, file);
	int fd = made ? part_create(part, path)
		      : part_open_file(part, path,
				       request->overwrite ? 0 : O_TRUNC);
	int error = fd < 0 ? -1 : load_file(load, part, fd, size, path);

	free(path);
	return error;
}

static int make(struct load *load, struct part *part, const uint64_t *sizes)
{
	for (uint64_t i = 0; i < load->request->files; i++)
		if (stop_wanted() || write_file(load, part, i, sizes[i], true))
			return -1;
	return 0;
}

static int delete(struct load *load, struct part *part)
{
	for (uint64_t i = 0; i < load->request->files; i++) {
		char *path = path_of(load->request, i);
		int error = stop_wanted() || part_unlink(part, path);

		free(path);
		if (error)
			return -1;
	}
	return 0;
}

/* Files at random, until so many bytes are written. */
static int rewrite(struct load *load, struct part *part, const uint64_t *sizes)
{
	const struct request *request = load->request;
	struct draw which = {
		.kind = DRAW_UNIFORM,
		.b = (double)(request->files - 1),
	};

	while (part->written < request->total) {
		uint64_t file = draw_next(&which, &load->random);

		if (stop_wanted() ||
		    write_file(load, part, file, sizes[file], false))
			return -1;
	}
	return 0;
}

static int make_folder(const char *path)
{
	if (mkdir(path, 0755) && errno != EEXIST)
		return fail_errno("make the folder", path);
	return 0;
}

static int run_rewrite(struct load *load, const uint64_t *sizes)
{
	const char *place = load->request->place;
	struct part *part = load_begin(load, 0, "making", true);
	int error = load_end(load, part, place, make(load, part, sizes));

	if (error)
		return -1;
	part = load_begin(load, 1, "rewriting", false);
	return load_end(load, part, place, rewrite(load, part, sizes));
}

static int run_cycle(struct load *load, const uint64_t *sizes)
{
	const char *place = load->request->place;

	for (uint64_t i = 0; i < load->request->rounds; i++) {
		struct part *part = load_begin(load, 0, "writing", false);

		if (load_end(load, part, place, make(load, part, sizes)))
			return -1;
		part = load_begin(load, 1, "deleting", false);
		if (load_end(load, part, place, delete (load, part)))
			return -1;
	}
	return 0;
}

static int run(struct request *request, struct load *load,
	       int (*act)(struct load *load, const uint64_t *sizes))
{
	uint64_t *sizes;
	int error;

	load_open(load, request, PIECE);
	sizes = draw_sizes(load);
	if (!sizes)
		return EXIT_USAGE;
	error = make_folder(request->place) || act(load, sizes);
	free(sizes);
	return error ? EXIT_RUN_FAILED : EXIT_OK;
}

int rewrite_run(struct request *request, struct load *load)
{
	return run(request, load, run_rewrite);
}

int cycle_run(struct request *request, struct load *load)
{
	return run(request, load, run_cycle);
}
