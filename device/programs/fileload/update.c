// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fileload update: bytes of a file that is there are overwritten, at places
 * drawn alike from all where they lie within the file. Nothing is created, and
 * the file keeps its size.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "diag.h"
#include "load.h"
#include "stop.h"

/* The size of the file, or an exit code other than EXIT_OK. */
static int look(const struct request *request, uint64_t *size)
{
	struct stat st;

	if (stat(request->place, &st)) {
		fail_errno("look at", request->place);
		return EXIT_RUN_FAILED;
	}
	if (!S_ISREG(st.st_mode)) {
		fail("'%s' is no file: update overwrites bytes of a file that "
		     "is there",
		     request->place);
		return EXIT_USAGE;
	}
	*size = (uint64_t)st.st_size;
	if (request->bytes <= *size)
		return EXIT_OK;
	fail("--bytes %llu: '%s' has %llu bytes; give as many or fewer, or a "
	     "larger file",
	     (unsigned long long)request->bytes, request->place,
	     (unsigned long long)*size);
	return EXIT_USAGE;
}

static int open_file(struct load *load, struct part *part)
{
	return part_open_file(part, load->request->place, 0);
}

/* One update of the open file. */
static int update(struct load *load, struct part *part, int fd,
		  struct draw *place)
{
	const struct request *request = load->request;
	size_t bytes = (size_t)request->bytes;

	if (stop_wanted() ||
	    part_write(part, fd, payload_next(&load->payload, bytes), bytes,
		       draw_next(place, &load->random), request->place))
		return -1;
	return load_fsync_due(load) ? part_fsync(part, fd, request->place) : 0;
}

static int updates(struct load *load, struct part *part, struct draw *place)
{
	const struct request *request = load->request;
	int fd = -1, error = 0;

	for (uint64_t i = 0; i < request->count && !error; i++) {
		if (fd < 0)
			fd = open_file(load, part);
		if (fd < 0)
			return -1;
		error = update(load, part, fd, place);
		if (request->each) {
			error |= part_close_file(part, fd, request->place);
			fd = -1;
		}
	}
	if (fd >= 0 && part_close_file(part, fd, request->place))
		error = -1;
	return error;
}

int update_run(struct request *request, struct load *load)
{
	struct draw place = {.kind = DRAW_UNIFORM};
	struct part *part;
	uint64_t size = 0;
	int code = look(request, &size);

	if (code)
		return code;
	place.b = (double)(size - request->bytes);
	load_open(load, request, (size_t)request->bytes);
	load->held = size;
	part = load_begin(load, 0, "updating", false);
	return load_end(load, part, request->place, updates(load, part, &place))
		       ? EXIT_RUN_FAILED
		       : EXIT_OK;
}
