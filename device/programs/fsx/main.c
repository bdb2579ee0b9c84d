// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fsx: does random operations on one file and checks each byte against a copy
 * of it in memory.
 *
 * Reads, writes, appends, shared mappings read and written, truncations to
 * shorter and longer, fsync, closing and opening again, dropping the page
 * cache, and unmounting and mounting again (--remount: the command that does
 * it) are drawn at random; the same --seed gives the same operations. After
 * every operation the file's size is checked; after those that empty a cache,
 * all of its bytes. The file must not exist.
 *
 * A mismatch ends the run with status 1 and prints the operation, the offset,
 * the bytes expected and got, and the operations before. Otherwise the last
 * line is JSON: how many operations of each kind were done.
 *
 * --spoil N is for testing fsx: after operation N it changes a byte of the
 * file, but not of the copy, and must find it.
 *
 * --no-map-write is for a file system that maps no shared writable pages: it
 * must then refuse each such mapping.
 */
#include <stdio.h>
#include <stdlib.h>

#include "diag.h"
#include "fsx.h"
#include "json.h"
#include "options.h"
#include "pagecache.h"
#include "takes.h"

#define MOST	   1e18 /* of any number that is given */
#define REMEMBERED 16	/* operations printed after a mismatch */

TAKE_COUNT(seed, "seed", 0, MOST)
TAKE_COUNT(operations, "operations", 1, MOST)
TAKE_COUNT(largest_file, "file-size", 4096, MOST)
TAKE_COUNT(largest_piece, "piece-size", 1, MOST)
TAKE_COUNT(spoil, "spoil", 1, MOST)
TAKE_TEXT(remount)
TAKE_TEXT(drop_control)

static int on_no_map_write(void *context, const char *value)
{
	(void)value;
	((struct request *)context)->no_map_write = true;
	return 0;
}

static int on_file(void *context, const char *value)
{
	struct request *request = context;

	if (request->file)
		return fail("'%s': one file is enough", value);
	request->file = value;
	return 0;
}

static const struct option_decl options[] = {
	{"seed", "N", "seed of what is drawn (1)", on_seed},
	{"operations", "N", "number of operations (1000)", on_operations},
	{"file-size", "BYTES", "the file is never larger (262144)",
	 on_largest_file},
	{"piece-size", "BYTES", "one operation never moves more (16384)",
	 on_largest_piece},
	{"remount", "COMMAND",
	 "command that unmounts and mounts the file system", on_remount},
	{"drop-control", "FILE",
	 "drop caches through FILE (" PAGECACHE_CONTROL ")", on_drop_control},
	{"no-map-write", NULL, "shared writable mappings must be refused",
	 on_no_map_write},
	{"spoil", "N", "spoil a byte after operation N, to test this program",
	 on_spoil},
	{NULL, NULL, "", on_file},
};

static void tell(const struct drawn *drawn)
{
	fprintf(stderr, "  %6llu %s %llu+%llu\n",
		(unsigned long long)drawn->number, kind_names[drawn->kind],
		(unsigned long long)drawn->at, (unsigned long long)drawn->size);
}

static int run(struct subject *subject)
{
	const struct request *request = subject->request;
	struct drawn last[REMEMBERED] = {{0}};
	uint64_t number = 0;
	int error = 0;

	while (!error && number < request->operations) {
		error = subject_step(subject, ++number);
		last[number % REMEMBERED] = subject->now;
		if (!error && number == request->spoil)
			error = subject_spoil(subject);
	}
	if (!error)
		error = subject_verify(subject);
	if (!error)
		return 0;
	fail("seed %llu; the last operations:",
	     (unsigned long long)request->seed);
	for (uint64_t i = number < REMEMBERED ? 1 : number - REMEMBERED + 1;
	     i <= number; i++)
		tell(&last[i % REMEMBERED]);
	return -1;
}

static int report(const struct subject *subject)
{
	struct json json = {.out = stdout};

	json_object(&json, NULL);
	json_text(&json, "program", "fsx");
	json_count(&json, "seed", subject->request->seed);
	json_count(&json, "operations", subject->request->operations);
	json_object(&json, "done");
	for (int i = 0; i < KINDS; i++)
		json_count(&json, kind_names[i], subject->done[i]);
	json_end(&json);
	json_end(&json);
	return json_finish(&json);
}

int main(int argc, char **argv)
{
	struct request request = {
		.seed = 1,
		.operations = 1000,
		.drop_control = PAGECACHE_CONTROL,
		.largest_file = 256 << 10,
		.largest_piece = 16 << 10,
	};
	struct subject subject;
	bool helped;
	int error;

	(void)argc;
	diag_program = "fsx";
	if (options_walk(
		    options, sizeof(options) / sizeof(*options), argv + 1,
		    &request, "[OPTION...] FILE",
		    "Does random operations on one file and checks each byte.",
		    &helped))
		return helped ? EXIT_OK : EXIT_USAGE;
	if (!request.file) {
		fail("FILE is missing; see --help");
		return EXIT_USAGE;
	}
	if (subject_open(&subject, &request))
		return EXIT_RUN_FAILED;
	error = run(&subject);
	if (!error)
		error = report(&subject);
	subject_close(&subject);
	return error ? EXIT_RUN_FAILED : EXIT_OK;
}
