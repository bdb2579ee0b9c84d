// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fileload update: bytes of a file that is there are overwritten. Their places
 * are drawn alike from all where they lie within the file, or from the
 * multiples of their size; then the file keeps its size. Or the first multiples
 * come in random order, each once: that writes a file at random in the first
 * place. Costs 8 bytes of memory an update then.
 */
#include <fcntl.h>
#include <stdlib.h>
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
	if (request->bytes <= *size || request->at == SHUFFLED)
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

/* Where updates begin. */
struct places {
	struct draw any;  /* of ANY_BYTE */
	uint64_t units;	  /* of MULTIPLE: multiples that lie within the file */
	uint64_t *order;  /* of SHUFFLED: the multiples */
	uint64_t ordered; /* how many of them have been taken */
};

/* The multiples' numbers, shuffled as they are taken (Fisher and Yates). */
static uint64_t take_shuffled(struct places *places, uint64_t count,
			      uint64_t *random)
{
	uint64_t *here = &places->order[places->ordered], taken;
	uint64_t *there = here + payload_below(count - places->ordered, random);

	taken = *there;
	*there = *here;
	*here = taken;
	places->ordered++;
	return taken;
}

static uint64_t next_place(struct places *places, struct load *load)
{
	const struct request *request = load->request;

	switch ((enum place_way)request->at) {
	case MULTIPLE:
		return payload_below(places->units, &load->random) *
		       request->bytes;
	case SHUFFLED:
		return take_shuffled(places, request->count, &load->random) *
		       request->bytes;
	case ANY_BYTE:
	default:
		return draw_next(&places->any, &load->random);
	}
}

static void open_places(struct places *places, const struct request *request,
			uint64_t size)
{
	if (request->at == ANY_BYTE)
		places->any.b = (double)(size - request->bytes);
	places->units = size / request->bytes;
	if (request->at != SHUFFLED)
		return;
	places->order = allocate(request->count, sizeof(*places->order),
				 "the order of updates");
	for (uint64_t i = 0; i < request->count; i++)
		places->order[i] = i;
}

/* Bytes of the file after all updates. */
static uint64_t size_after(const struct request *request, uint64_t size)
{
	uint64_t end = request->count * request->bytes;

	return request->at == SHUFFLED && end > size ? end : size;
}

/* One update of the open file. */
static int update(struct load *load, struct part *part, int fd,
		  struct places *places)
{
	const struct request *request = load->request;
	size_t bytes = (size_t)request->bytes;

	if (stop_wanted() ||
	    part_write(part, fd, payload_next(&load->payload, bytes), bytes,
		       next_place(places, load), request->place))
		return -1;
	return load_fsync_due(load) ? part_fsync(part, fd, request->place) : 0;
}

static int updates(struct load *load, struct part *part, struct places *places)
{
	const struct request *request = load->request;
	int fd = -1, error = 0;

	for (uint64_t i = 0; i < request->count && !error; i++) {
		if (fd < 0)
			fd = open_file(load, part);
		if (fd < 0)
			return -1;
		error = update(load, part, fd, places);
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
	struct places places = {.any.kind = DRAW_UNIFORM};
	struct part *part;
	uint64_t size = 0;
	int code = look(request, &size), error;

	if (code)
		return code;
	open_places(&places, request, size);
	load_open(load, request, (size_t)request->bytes);
	load->held = size_after(request, size);
	part = load_begin(load, 0, "updating", false);
	error = updates(load, part, &places);
	free(places.order);
	return load_end(load, part, request->place, error) ? EXIT_RUN_FAILED
							   : EXIT_OK;
}
