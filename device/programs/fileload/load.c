// SPDX-License-Identifier: GPL-2.0-or-later
/* What all commands share; see load.h. */
#include <sys/stat.h>

#include "diag.h"
#include "load.h"
#include "stop.h"

void load_open(struct load *load, const struct request *request, size_t largest)
{
	load->request = request;
	load->random = request->seed;
	/* Another seed than the draws', for both begin alike. */
	payload_open(&load->payload, (enum payload_kind)request->payload,
		     ~request->seed, request->compressibility, largest);
}

void load_close(struct load *load)
{
	payload_close(&load->payload);
	for (int i = 0; i < load->parts_begun; i++)
		part_close(&load->parts[i]);
}

struct part *load_begin(struct load *load, int i, const char *name,
			bool prepares)
{
	if (i >= load->parts_begun) {
		part_open(&load->parts[i], name, prepares);
		load->parts_begun = i + 1;
	}
	part_begin(&load->parts[i], load->request->flash);
	return &load->parts[i];
}

int load_end(struct load *load, struct part *part, const char *place, int error)
{
	bool synced = load->request->sync && !error;

	if (part_end(part, load->request->flash, synced ? place : NULL))
		error = -1;
	return error;
}

bool load_fsync_due(struct load *load)
{
	if (++load->due != load->request->fsync_every)
		return false;
	load->due = 0;
	return true;
}

static int put(struct load *load, struct part *part, int fd, uint64_t size,
	       const char *path)
{
	payload_align(&load->payload);
	for (uint64_t at = 0; at < size;) {
		uint64_t left = size - at;
		size_t piece = left < PIECE ? (size_t)left : PIECE;

		if (stop_wanted() ||
		    part_write(part, fd, payload_next(&load->payload, piece),
			       piece, at, path))
			return -1;
		at += piece;
	}
	return 0;
}

int load_file(struct load *load, struct part *part, int fd, uint64_t size,
	      const char *path)
{
	int error = put(load, part, fd, size, path);

	if (!error && load_fsync_due(load))
		error = part_fsync(part, fd, path);
	return part_close_file(part, fd, path) ? -1 : error;
}
