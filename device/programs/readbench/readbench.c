// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * readbench: what reading costs, point by point.
 *
 * Writes and syncs its files, then runs the points of a list in order. For
 * each, the caches are dropped after a sync, the chip comes to rest, the file
 * is opened O_RDONLY, and so many requests of one size are made, each timed
 * alone. A point's time is the sum of its requests': open, map and advice are
 * told apart, pauses between requests are in no time. A point may open the file
 * for each request.
 *
 * What the chip did is counted from before the first request to after the
 * last, pauses included. Where the time went (usage) is told of points without
 * pauses: in a pause the processor idles, which is none of the requests'.
 *
 * Needs root to drop caches. Costs 24 bytes of memory a request, and the
 * largest request. Reads the chip's statistics (--flash) if there are any.
 */
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "bench.h"
#include "checked.h"
#include "clock.h"
#include "diag.h"
#include "flashstat.h"
#include "options.h"
#include "pagecache.h"
#include "session.h"
#include "takes.h"

#define BYTES_MAX 1073741824
#define FILES_MAX 100000
#define REST_MAX  10000
#define SEED_MAX  9e15

TAKE_COUNT(files, "files", 1, FILES_MAX)
TAKE_COUNT(file_bytes, "file-bytes", 1, BYTES_MAX)
TAKE_COUNT(bytes_min, "bytes-min", 0, BYTES_MAX)
TAKE_COUNT(bytes_max, "bytes-max", 0, BYTES_MAX)
TAKE_COUNT(seed, "seed", 0, SEED_MAX)
TAKE_COUNT(rest_ms, "rest-ms", 0, REST_MAX)

TAKE_TEXT(folder)
TAKE_TEXT(points)
TAKE_TEXT(flash)
TAKE_TEXT(control)

static int on_verify(void *context, const char *value)
{
	struct request *request = context;

	request->verify = !strcmp(value, "true");
	if (!request->verify && strcmp(value, "false") != 0)
		return fail("--verify %s: expected true or false", value);
	return 0;
}

static const struct option_decl options[] = {
	{NULL, "FOLDER", "where the files are made", on_folder},
	{"points", "FILE", "the points, one a line (readbench.cfg)", on_points},
	{"files", "N", "files to make; more than 1 for heads only (1)",
	 on_files},
	{"file-bytes", "BYTES", "size of each file (5242880)", on_file_bytes},
	{"bytes-min", "BYTES", "least size of a file; 0: --file-bytes (0)",
	 on_bytes_min},
	{"bytes-max", "BYTES", "greatest size of a file; 0: --file-bytes (0)",
	 on_bytes_max},
	{"seed", "N", "of data, sizes and random places (1)", on_seed},
	{"rest-ms", "MS", "the chip is idle so long before a point (100)",
	 on_rest_ms},
	{"verify", "true|false",
	 "compare what was read with what was written (false)", on_verify},
	{"flash", "DIR", "the chip's statistics (" FLASHSTAT_DIRECTORY ")",
	 on_flash},
	{"control", "FILE", "where caches are dropped (" PAGECACHE_CONTROL ")",
	 on_control},
};

/* A message about the first point that the files cannot hold. */
static int check_points(const struct session *session)
{
	const struct request *request = session->request;
	bool one =
		request->files == 1 && request->bytes_min == request->bytes_max;

	for (size_t i = 0; i < session->points.count; i++) {
		const struct point *point = &session->points.all[i];
		uint64_t needs = point_needs(point);

		if (point->pattern != HEAD && !one)
			return fail("%s: only a head is of more than one file",
				    point->name);
		if (needs > request->bytes_min)
			return fail("%s needs a file of %llu bytes; this one "
				    "has %llu",
				    point->name, (unsigned long long)needs,
				    (unsigned long long)request->bytes_min);
	}
	return 0;
}

static int check(struct request *request)
{
	if (!request->folder)
		return fail("FOLDER is missing: where the files are made");
	if (!request->bytes_min != !request->bytes_max)
		return fail("give both of --bytes-min and --bytes-max");
	if (!request->bytes_min)
		request->bytes_min = request->bytes_max = request->file_bytes;
	if (request->bytes_min > request->bytes_max)
		return fail("--bytes-min %llu is above --bytes-max %llu",
			    (unsigned long long)request->bytes_min,
			    (unsigned long long)request->bytes_max);
	return 0;
}

static int look(const struct session *session, struct flash_counters *counters)
{
	if (session->counted &&
	    flash_read_counters(session->request->flash, counters))
		return fail_errno("read the chip's statistics in",
				  session->request->flash);
	return 0;
}

static int write_files(struct session *session)
{
	uint64_t began;

	session->counted =
		!flash_read_counters(session->request->flash, &session->before);
	began = now_ns();
	if (files_write(&session->files))
		return -1;
	session->write_ns = now_ns() - began;
	return look(session, &session->after);
}

/* A buffer for the largest request; every page of it is there. */
static unsigned char *buffer_for(const struct points *points)
{
	uint64_t largest = 1;
	unsigned char *buffer;

	for (size_t i = 0; i < points->count; i++)
		if (points->all[i].size > largest)
			largest = points->all[i].size;
	buffer = allocate(largest, 1, "the largest request");
	memset(buffer, 0xff, (size_t)largest);
	return buffer;
}

static int run(struct session *session)
{
	const struct request *request = session->request;
	struct bench bench = {
		.flash = request->flash,
		.control = request->control,
		.seed = request->seed,
		.rest_ms = request->rest_ms,
		.verify = request->verify,
		.files = &session->files,
		.warnings = &session->warnings,
	};
	int error;

	if (access_prepare() || write_files(session))
		return -1;
	bench.counted = session->counted;
	bench.buffer = buffer_for(&session->points);
	error = 0;
	for (size_t i = 0; i < session->points.count && !error; i++)
		error = bench_point(&bench, &session->points.all[i],
				    &session->found[i]);
	free(bench.buffer);
	return error;
}

static void close_session(struct session *session)
{
	for (size_t i = 0; i < session->points.count; i++)
		bench_free(&session->found[i]);
	free(session->found);
	files_close(&session->files);
	points_free(&session->points);
	warnings_close(&session->warnings);
}

int main(int argc, char **argv)
{
	struct request request = {
		.flash = FLASHSTAT_DIRECTORY,
		.control = PAGECACHE_CONTROL,
		.points = "readbench.cfg",
		.files = 1,
		.file_bytes = 5242880,
		.seed = 1,
		.rest_ms = 100,
	};
	struct session session = {.request = &request};
	bool helped;
	int error;

	(void)argc;
	diag_program = "readbench";
	if (options_walk(options, sizeof(options) / sizeof(*options), argv + 1,
			 &request, "FOLDER [OPTION...]",
			 "Reads files point by point and times each request.",
			 &helped))
		return helped ? EXIT_OK : EXIT_USAGE;
	if (check(&request) || points_read(&session.points, request.points) ||
	    check_points(&session))
		return EXIT_USAGE;
	session.found = allocate(session.points.count, sizeof(*session.found),
				 "what is found");
	files_open(&session.files, request.folder, request.files,
		   request.bytes_min, request.bytes_max, request.seed);
	error = run(&session) || tell(&session);
	close_session(&session);
	return error ? EXIT_RUN_FAILED : EXIT_OK;
}
