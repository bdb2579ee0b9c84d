// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * configwriter: what a device does that keeps its settings on flash.
 *
 * Saves small files one after the other: each is written beside the old one,
 * synced, renamed over it, and the folder synced. The latency of each save and
 * of its calls is recorded, so that the time until a setting is safe has exact
 * percentiles. Think time between saves is in no time.
 *
 * The files are made first, which is in no figure. With --time-making it is a
 * phase before the saves: the time until the first settings are safe, with what
 * the file system put off until somebody writes. At the end the file system is
 * synced. Whoever wraps the calls sees for each save openat, write, fsync,
 * close, rename, fsync.
 *
 * Costs 40 bytes of memory a save. Reads the chip's statistics (--flash)
 * between its phases, in no time that it tells, if there are any.
 */
#include <stdlib.h>

#include "checked.h"
#include "clock.h"
#include "diag.h"
#include "json.h"
#include "looks.h"
#include "options.h"
#include "takes.h"
#include "store.h"

#define MOST	   1e9
#define BYTES_MOST 16777216.0
#define SAVES_MOST 10000000u

struct measured {
	struct look first;		 /* nothing made; if that is timed */
	struct look before, done, after; /* done: saved, and not synced yet */
	uint64_t making_ns, ns, sync_ns;
};

/* What a phase did. */
struct tally {
	uint64_t operations[OPS];
	uint64_t written; /* bytes */
};

TAKE_COUNT(files, "files", 1, MOST)
TAKE_COUNT(bytes, "bytes", 1, BYTES_MOST)
TAKE_COUNT(rounds, "rounds", 1, MOST)
TAKE_COUNT(interval_ms, "interval-ms", 0, MOST)
TAKE_COUNT(seed, "seed", 0, 1e12)

static int on_compressibility(void *context, const char *value)
{
	return take_share(&((struct request *)context)->compressibility,
			  "compressibility", value);
}

static int on_time_making(void *context, const char *value)
{
	(void)value;
	((struct request *)context)->time_making = true;
	return 0;
}

TAKE_TEXT(flash)
TAKE_TEXT(folder)

static const struct option_decl options[] = {
	{NULL, "FOLDER", "where the files are kept; it must be empty",
	 on_folder},
	{"files", "N", "files of settings (10)", on_files},
	{"bytes", "BYTES", "bytes of each, 16 MiB at the most (400)", on_bytes},
	{"rounds", "N", "times that each is saved (20)", on_rounds},
	{"interval-ms", "MS", "think time after a save, ms (0)",
	 on_interval_ms},
	{"seed", "N", "of the data (1)", on_seed},
	{"compressibility", "SHARE",
	 "share of the data that a compressor can take out (0)",
	 on_compressibility},
	{"time-making", NULL, "time the making of the files too",
	 on_time_making},
	{"flash", "DIR", "the chip's statistics (" FLASHSTAT_DIRECTORY ")",
	 on_flash},
};

static int check(const struct request *request)
{
	if (!request->folder)
		return fail("FOLDER is missing: where the files are kept");
	if (request->rounds > SAVES_MOST / request->files)
		return fail("--files times --rounds: %u saves at the most",
			    SAVES_MOST);
	return 0;
}

/* Make the files; timed, between two looks, if that is asked for. */
static int measure_making(struct store *store, struct measured *found)
{
	const struct request *request = store->request;
	uint64_t began;

	if (request->time_making && look_at(&found->first, request->flash))
		return -1;
	began = now_ns();
	if (store_make(store))
		return -1;
	found->making_ns = now_ns() - began;
	return look_at(&found->before, request->flash);
}

static int measure(struct store *store, struct measured *found)
{
	const struct request *request = store->request;
	uint64_t began;

	if (measure_making(store, found))
		return -1;
	began = now_ns();
	if (store_run(store))
		return -1;
	found->ns = now_ns() - began - store->pause_ns;
	if (look_at(&found->done, request->flash))
		return -1;
	began = now_ns();
	if (checked_syncfs(request->folder))
		return -1;
	found->sync_ns = now_ns() - began;
	if (look_at(&found->after, request->flash))
		return -1;
	for (int op = 0; op < OPS; op++)
		if (latency_sort(&store->latency[op]))
			return -1;
	return 0;
}

/* A file that is made has no name before: nothing is renamed, or saved. */
static struct tally count_making(const struct request *request)
{
	struct tally tally = {0};

	if (!request->time_making)
		return tally;
	tally.operations[OP_WRITE] = request->files;
	tally.operations[OP_FSYNC] = request->files;
	tally.operations[OP_FSYNC_FOLDER] = request->files;
	tally.written = request->files * request->bytes;
	return tally;
}

static struct tally count_saving(const struct store *store)
{
	const struct request *request = store->request;
	struct tally tally = {
		.written = request->files * request->rounds * request->bytes,
	};

	for (int op = 0; op < OPS; op++)
		tally.operations[op] = store->latency[op].count;
	return tally;
}

static struct tally add_tallies(struct tally sum, struct tally more)
{
	for (int op = 0; op < OPS; op++)
		sum.operations[op] += more.operations[op];
	sum.written += more.written;
	return sum;
}

/* Kinds of which there was none are left out. */
static void tell_tally(struct json *json, struct tally tally)
{
	json_object(json, "operations");
	for (int op = 0; op < OPS; op++)
		if (tally.operations[op])
			json_count(json, op_names[op], tally.operations[op]);
	json_end(json);
	json_object(json, "bytes");
	json_count(json, "read", 0);
	json_count(json, "written", tally.written);
	json_end(json);
}

static void tell_phases(struct json *json, const struct store *store,
			const struct measured *found)
{
	json_array(json, "phases");
	if (store->request->time_making) {
		json_object(json, NULL);
		json_text(json, "name", "making");
		json_count(json, "ns", found->making_ns);
		tell_tally(json, count_making(store->request));
		look_counts_json(json, "chip", &found->first, &found->before);
		json_end(json);
	}
	json_object(json, NULL);
	json_text(json, "name", "saving");
	json_count(json, "ns", found->ns);
	json_count(json, "sync_ns", found->sync_ns);
	tell_tally(json, count_saving(store));
	look_counts_json(json, "chip", &found->before, &found->after);
	look_counts_json(json, "chip_sync", &found->done, &found->after);
	json_end(json);
	json_end(json);
}

static int tell(const struct store *store, const struct measured *found)
{
	const struct request *request = store->request;
	struct json json = {.out = stdout};

	json_object(&json, NULL);
	json_text(&json, "program", "configwriter");
	tell_phases(&json, store, found);
	tell_tally(&json,
		   add_tallies(count_making(request), count_saving(store)));
	json_object(&json, "latency_ns");
	for (int op = 0; op < OPS; op++)
		latency_json(&json, op_names[op], &store->latency[op]);
	json_end(&json);
	look_blocks_json(&json,
			 request->time_making ? &found->first : &found->before,
			 &found->after);
	json_end(&json);
	return json_finish(&json);
}

int main(int argc, char **argv)
{
	struct request request = {
		.flash = FLASHSTAT_DIRECTORY,
		.files = 10,
		.bytes = 400,
		.rounds = 20,
		.seed = 1,
	};
	struct measured found = {0};
	struct store store = {.folder = -1};
	bool helped;
	int error;

	(void)argc;
	diag_program = "configwriter";
	if (options_walk(options, sizeof(options) / sizeof(*options), argv + 1,
			 &request, "FOLDER [OPTION...]",
			 "Saves small files of settings, each safely.",
			 &helped))
		return helped ? EXIT_OK : EXIT_USAGE;
	if (check(&request))
		return EXIT_USAGE;
	error = store_open(&store, &request) || measure(&store, &found) ||
		tell(&store, &found);
	error |= store_close(&store);
	look_free(&found.first);
	look_free(&found.before);
	look_free(&found.done);
	look_free(&found.after);
	return error ? EXIT_RUN_FAILED : EXIT_OK;
}
