// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * readpages: reads a file that is there, in pieces of one size, in order or at
 * random, with or without pauses. Each piece is one pread(2).
 *
 * What other programs left of a file is read as it lies, which readbench does
 * not: it reads files of its own. What the kernel's cache holds is the caller's
 * affair; nothing is dropped.
 *
 * The last line of stdout is one JSON object: the phase "reading", whose time
 * is the sum of all reads, without open and pauses, and the latency of a read.
 * Costs 16 bytes of memory a piece. Reads the chip's statistics (--flash) at
 * begin and end if there are any.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "checked.h"
#include "clock.h"
#include "diag.h"
#include "json.h"
#include "latency.h"
#include "looks.h"
#include "takes.h"
#include "options.h"
#include "payload.h"

#define COUNT_MOST 100000000
#define SIZE_MOST  16777216
#define PAUSE_MOST 1e9
#define SEED_MOST  9e15
#define NS_PER_US  1000
#define US_PER_S   1000000

enum order { SEQUENTIAL, RANDOM, RANDOM_REPLACE, RANDOM_UNALIGNED };

/* As readbench calls them. */
static const char *const orders[] = {"sequential", "random", "random-replace",
				     "random-unaligned", NULL};

struct request {
	const char *file;
	const char *flash;
	int order;
	uint64_t size, count, pause_us, seed;
};

struct reads {
	uint64_t *offsets; /* of pieces, in the order of the reads */
	uint64_t count;
	uint64_t bytes; /* read */
	struct latency latency;
	struct look before, after;
};

static int on_file(void *context, const char *value)
{
	struct request *request = context;

	if (request->file)
		return fail("'%s': one FILE is read, and '%s' was given", value,
			    request->file);
	request->file = value;
	return 0;
}

static int on_order(void *context, const char *value)
{
	return take_choice(&((struct request *)context)->order, "order", value,
			   orders);
}

TAKE_COUNT(size, "size", 1, SIZE_MOST)
TAKE_COUNT(count, "count", 1, COUNT_MOST)
TAKE_COUNT(pause_us, "pause-us", 0, PAUSE_MOST)
TAKE_COUNT(seed, "seed", 0, SEED_MOST)
TAKE_TEXT(flash)

static const struct option_decl options[] = {
	{NULL, "FILE", "the file that is read", on_file},
	{"order", "ORDER",
	 "sequential; random: each piece once; random-replace: any again; "
	 "random-unaligned: from any byte (sequential)",
	 on_order},
	{"size", "BYTES", "of a piece (4096)", on_size},
	{"count", "N", "pieces that are read (all of the file)", on_count},
	{"pause-us", "US", "slept between two reads, us (0)", on_pause_us},
	{"seed", "N", "of random places (1)", on_seed},
	{"flash", "DIR", "the chip's statistics (" FLASHSTAT_DIRECTORY ")",
	 on_flash},
};

/* Shuffle what comes first of the @pieces (Fisher and Yates). */
static void shuffle(struct reads *reads, uint64_t pieces, uint64_t *random)
{
	for (uint64_t i = 0; i < reads->count; i++) {
		uint64_t *here = &reads->offsets[i], kept = *here;
		uint64_t *there = here + payload_below(pieces - i, random);

		*here = *there;
		*there = kept;
	}
}

/* Where the reads of a file of so many bytes are. */
static void place(struct reads *reads, const struct request *request,
		  uint64_t pieces, uint64_t bytes)
{
	uint64_t random = request->seed, *offsets = reads->offsets;

	for (uint64_t i = 0; i < pieces; i++)
		offsets[i] = i * request->size;
	if (request->order == RANDOM)
		shuffle(reads, pieces, &random);
	for (uint64_t i = 0; i < reads->count; i++) {
		if (request->order == RANDOM_REPLACE)
			offsets[i] =
				payload_below(pieces, &random) * request->size;
		if (request->order == RANDOM_UNALIGNED)
			offsets[i] = payload_below(bytes - request->size + 1,
						   &random);
	}
}

static int refuse_count(const struct reads *reads,
			const struct request *request, uint64_t pieces)
{
	fail("--count %llu: '%s' has %llu pieces of %llu bytes",
	     (unsigned long long)reads->count, request->file,
	     (unsigned long long)pieces, (unsigned long long)request->size);
	return EXIT_USAGE;
}

/* How many pieces are read, and where; an exit code. */
static int prepare(struct reads *reads, const struct request *request)
{
	uint64_t pieces, bytes;
	struct stat st;

	if (stat(request->file, &st)) {
		fail_errno("look at", request->file);
		return EXIT_RUN_FAILED;
	}
	bytes = (uint64_t)st.st_size;
	if (!S_ISREG(st.st_mode) || bytes < request->size) {
		fail("'%s': not a file of %llu bytes or more", request->file,
		     (unsigned long long)request->size);
		return EXIT_USAGE;
	}
	pieces = (bytes + request->size - 1) / request->size;
	reads->count = request->count ? request->count : pieces;
	if (reads->count > pieces && request->order < RANDOM_REPLACE)
		return refuse_count(reads, request, pieces);
	reads->offsets =
		allocate(reads->count > pieces ? reads->count : pieces,
			 sizeof(*reads->offsets), "the places of pieces");
	place(reads, request, pieces, bytes);
	latency_open(&reads->latency, reads->count);
	return EXIT_OK;
}

static void pause_a_while(uint64_t us)
{
	struct timespec pause = {
		.tv_sec = (time_t)(us / US_PER_S),
		.tv_nsec = (long)(us % US_PER_S * NS_PER_US),
	};

	while (us && clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, &pause))
		;
}

/* A piece; the file's last one may be shorter. */
static int read_one(struct reads *reads, const struct request *request, int fd,
		    void *buffer, uint64_t offset)
{
	uint64_t began = now_ns();
	ssize_t got = pread(fd, buffer, request->size, (off_t)offset);

	latency_add(&reads->latency, now_ns() - began);
	if (got > 0) {
		reads->bytes += (uint64_t)got;
		return 0;
	}
	return got ? fail_errno("read", request->file)
		   : fail("'%s' became shorter meanwhile", request->file);
}

static int run(struct reads *reads, const struct request *request)
{
	void *buffer = allocate(request->size, 1, "a piece");
	int fd = checked_open(request->file, O_RDONLY, 0);
	int error = fd < 0 || look_at(&reads->before, request->flash);

	for (uint64_t i = 0; i < reads->count && !error; i++) {
		if (i)
			pause_a_while(request->pause_us);
		error = read_one(reads, request, fd, buffer, reads->offsets[i]);
	}
	error = error || look_at(&reads->after, request->flash) ||
		latency_sort(&reads->latency);
	if (fd >= 0 && checked_close(fd, request->file))
		error = 1;
	free(buffer);
	return error ? -1 : 0;
}

static void tell_counts(struct json *json, const struct reads *reads)
{
	json_object(json, "operations");
	json_count(json, "read", reads->count);
	json_end(json);
	json_object(json, "bytes");
	json_count(json, "read", reads->bytes);
	json_count(json, "written", 0);
	json_end(json);
}

static int tell(const struct reads *reads)
{
	struct json json = {.out = stdout};
	uint64_t ns = 0;

	for (uint64_t i = 0; i < reads->count; i++)
		ns += reads->latency.ns[i];
	json_object(&json, NULL);
	json_text(&json, "program", "readpages");
	json_array(&json, "phases");
	json_object(&json, NULL);
	json_text(&json, "name", "reading");
	json_count(&json, "ns", ns);
	tell_counts(&json, reads);
	look_counts_json(&json, "chip", &reads->before, &reads->after);
	json_end(&json);
	json_end(&json);
	tell_counts(&json, reads);
	json_object(&json, "latency_ns");
	latency_json(&json, "read", &reads->latency);
	json_end(&json);
	json_end(&json);
	return json_finish(&json);
}

int main(int argc, char **argv)
{
	struct request request = {
		.flash = FLASHSTAT_DIRECTORY,
		.size = 4096,
		.seed = 1,
	};
	struct reads reads = {0};
	bool helped;
	int code;

	(void)argc;
	diag_program = "readpages";
	if (options_walk(options, sizeof(options) / sizeof(*options), argv + 1,
			 &request, "FILE [OPTION...]",
			 "Reads a file that is there, piece by piece.",
			 &helped))
		return helped ? EXIT_OK : EXIT_USAGE;
	if (!request.file) {
		fail("FILE is missing: the file that is read");
		return EXIT_USAGE;
	}
	code = prepare(&reads, &request);
	if (!code && (run(&reads, &request) || tell(&reads)))
		code = EXIT_RUN_FAILED;
	latency_close(&reads.latency);
	look_free(&reads.before);
	look_free(&reads.after);
	free(reads.offsets);
	return code;
}
