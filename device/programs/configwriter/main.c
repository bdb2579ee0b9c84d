// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * configwriter: what a device does that keeps its settings on flash.
 *
 * Saves small files one after the other: each is written beside the old one,
 * synced, renamed over it, and the folder synced. The latency of each save and
 * of its calls is recorded, so that the time until a setting is safe has exact
 * percentiles. Think time between saves is in no time.
 *
 * The files are made first, which is in no figure. At the end the file system
 * is synced. Whoever wraps the calls sees for each save openat, write, fsync,
 * close, rename, fsync.
 *
 * Costs 40 bytes of memory a save. Reads the chip's statistics (--flash) at
 * begin and end if there are any.
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
	struct look before, done, after; /* done: saved, and not synced yet */
	uint64_t ns, sync_ns;
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

static int measure(struct store *store, struct measured *found)
{
	const struct request *request = store->request;
	uint64_t began;

	if (look_at(&found->before, request->flash))
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

static void tell_operations(struct json *json, const struct store *store)
{
	const struct request *request = store->request;

	json_object(json, "operations");
	for (int op = 0; op < OPS; op++)
		json_count(json, op_names[op], store->latency[op].count);
	json_end(json);
	json_object(json, "bytes");
	json_count(json, "read", 0);
	json_count(json, "written",
		   request->files * request->rounds * request->bytes);
	json_end(json);
}

static int tell(const struct store *store, const struct measured *found)
{
	struct json json = {.out = stdout};

	json_object(&json, NULL);
	json_text(&json, "program", "configwriter");
	json_array(&json, "phases");
	json_object(&json, NULL);
	json_text(&json, "name", "saving");
	json_count(&json, "ns", found->ns);
	json_count(&json, "sync_ns", found->sync_ns);
	tell_operations(&json, store);
	look_counts_json(&json, "chip", &found->before, &found->after);
	look_counts_json(&json, "chip_sync", &found->done, &found->after);
	json_end(&json);
	json_end(&json);
	tell_operations(&json, store);
	json_object(&json, "latency_ns");
	for (int op = 0; op < OPS; op++)
		latency_json(&json, op_names[op], &store->latency[op]);
	json_end(&json);
	look_blocks_json(&json, &found->before, &found->after);
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
	look_free(&found.before);
	look_free(&found.done);
	look_free(&found.after);
	return error ? EXIT_RUN_FAILED : EXIT_OK;
}
