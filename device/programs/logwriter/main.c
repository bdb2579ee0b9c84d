// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * logwriter: what a device does that keeps a log on flash.
 *
 * Appends records of one size to a file and syncs it after every so many. A
 * file that is full is followed by the next; the newest are kept. The latency
 * of each append, commit (fsync) and rotation is recorded, and that of each
 * record, from its append's begin to its commit's end: the time until it is
 * safe has exact percentiles. Pauses between commits are in no time.
 *
 * The log's history, full files from before, is written first and is in no
 * figure. At the end the file system is synced.
 *
 * Costs 8 bytes of memory an operation, and 8 for each record of a commit.
 * Reads the chip's statistics (--flash) at begin and end if there are any.
 */
#include <errno.h>
#include <stdlib.h>

#include "checked.h"
#include "clock.h"
#include "diag.h"
#include "flashstat.h"
#include "json.h"
#include "log.h"
#include "options.h"
#include "takes.h"

#define MOST 1e12

/* What the chip counted at a moment. */
struct look {
	struct flash_counters counters;
	struct flash_blocks blocks;
};

struct measured {
	bool flash;		    /* the chip's statistics could be read */
	struct look before, after;  /* the logging, the sync at its end too */
	struct flash_counters done; /* when logging ended, before the sync */
	uint64_t ns, sync_ns;
};

TAKE_COUNT(records, "records", 1, MOST)
TAKE_COUNT(record_bytes, "record-bytes", 1, MOST)
TAKE_COUNT(commit_every, "commit-every", 1, MOST)
TAKE_COUNT(file_bytes, "file-bytes", 1, MOST)
TAKE_COUNT(keep, "keep", 1, MOST)
TAKE_COUNT(history, "history", 0, MOST)
TAKE_COUNT(interval_ms, "interval-ms", 0, MOST)
TAKE_COUNT(seed, "seed", 0, MOST)

static int on_compressibility(void *context, const char *value)
{
	return take_share(&((struct request *)context)->compressibility,
			  "compressibility", value);
}

TAKE_TEXT(flash)
TAKE_TEXT(folder)

static const struct option_decl options[] = {
	{NULL, "FOLDER", "where the log is kept; it must be empty", on_folder},
	{"records", "N", "records to append (1000)", on_records},
	{"record-bytes", "BYTES", "bytes of a record (256)", on_record_bytes},
	{"commit-every", "N", "records between two commits (1)",
	 on_commit_every},
	{"file-bytes", "BYTES", "most bytes of a file (1048576)",
	 on_file_bytes},
	{"keep", "N", "files that are kept (4)", on_keep},
	{"history", "N", "full files that are there at the begin (0)",
	 on_history},
	{"interval-ms", "MS", "pause after a commit, ms (0)", on_interval_ms},
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
		return fail("FOLDER is missing: where the log is kept");
	if (request->record_bytes > request->file_bytes)
		return fail("a record of %llu bytes is larger than a file "
			    "(--file-bytes %llu)",
			    (unsigned long long)request->record_bytes,
			    (unsigned long long)request->file_bytes);
	if (request->history >= request->keep)
		return fail("--history %llu: give less than --keep, for the "
			    "newest file is kept too",
			    (unsigned long long)request->history);
	return 0;
}

static int look(const struct request *request, struct look *look)
{
	if (flash_read_counters(request->flash, &look->counters) ||
	    flash_read_blocks(request->flash, &look->blocks))
		return fail_errno("read the chip's statistics in",
				  request->flash);
	return 0;
}

static int look_at_counters(const struct request *request,
			    struct flash_counters *counters)
{
	if (flash_read_counters(request->flash, counters))
		return fail_errno("read the chip's statistics in",
				  request->flash);
	return 0;
}

static int measure(struct log *log, struct measured *found)
{
	const struct request *request = log->request;
	uint64_t began;

	found->flash =
		!flash_read_counters(request->flash, &found->before.counters);
	if (found->flash && look(request, &found->before))
		return -1;
	began = now_ns();
	if (log_run(log))
		return -1;
	found->ns = now_ns() - began - log->pause_ns;
	if (found->flash && look_at_counters(request, &found->done))
		return -1;
	began = now_ns();
	if (checked_syncfs(request->folder))
		return -1;
	found->sync_ns = now_ns() - began;
	if (found->flash && look(request, &found->after))
		return -1;
	for (int op = 0; op < OPS; op++)
		if (latency_sort(&log->latency[op]))
			return -1;
	return 0;
}

static void tell_use(struct json *json, const char *key,
		     const struct flash_counters *later,
		     const struct flash_counters *earlier)
{
	json_object(json, key);
	json_count(json, "reads", flash_delta(later->reads, earlier->reads));
	json_count(json, "programs",
		   flash_delta(later->programs, earlier->programs));
	json_count(json, "erases", flash_delta(later->erases, earlier->erases));
	json_end(json);
}

static void tell_operations(struct json *json, const struct log *log)
{
	json_object(json, "operations");
	for (int op = 0; op < OPS; op++)
		json_count(json, op_names[op], log->latency[op].count);
	json_end(json);
}

static void tell_bytes(struct json *json, const struct log *log)
{
	json_object(json, "bytes");
	json_count(json, "read", 0);
	json_count(json, "written",
		   log->request->records * log->request->record_bytes);
	json_end(json);
}

static void tell_phase(struct json *json, const struct log *log,
		       const struct measured *found)
{
	const struct flash_counters *before = &found->before.counters;
	const struct flash_counters *after = &found->after.counters;

	json_array(json, "phases");
	json_object(json, NULL);
	json_text(json, "name", "logging");
	json_count(json, "ns", found->ns);
	json_count(json, "sync_ns", found->sync_ns);
	tell_operations(json, log);
	tell_bytes(json, log);
	if (found->flash) {
		tell_use(json, "chip", after, before);
		tell_use(json, "chip_sync", after, &found->done);
	}
	json_end(json);
	json_end(json);
}

static void tell_counts(struct json *json, const char *key,
			const uint64_t *later, const uint64_t *earlier,
			uint64_t count)
{
	json_array(json, key);
	for (uint64_t i = 0; i < count; i++)
		json_count(json, NULL, flash_delta(later[i], earlier[i]));
	json_end(json);
}

static void tell_blocks(struct json *json, const struct measured *found)
{
	const struct flash_blocks *before = &found->before.blocks;
	const struct flash_blocks *after = &found->after.blocks;

	if (!found->flash) {
		json_null(json, "per_block");
		return;
	}
	json_object(json, "per_block");
	tell_counts(json, "reads", after->reads, before->reads, after->count);
	tell_counts(json, "programs", after->programs, before->programs,
		    after->count);
	tell_counts(json, "erases", after->erases, before->erases,
		    after->count);
	json_end(json);
}

static int tell(const struct log *log, const struct measured *found)
{
	struct json json = {.out = stdout};

	if (found->after.blocks.count != found->before.blocks.count)
		return fail("the chip showed %llu blocks, then %llu",
			    (unsigned long long)found->before.blocks.count,
			    (unsigned long long)found->after.blocks.count);
	json_object(&json, NULL);
	json_text(&json, "program", "logwriter");
	tell_phase(&json, log, found);
	tell_operations(&json, log);
	tell_bytes(&json, log);
	json_object(&json, "latency_ns");
	for (int op = 0; op < OPS; op++)
		latency_json(&json, op_names[op], &log->latency[op]);
	json_end(&json);
	tell_blocks(&json, found);
	json_end(&json);
	return json_finish(&json);
}

int main(int argc, char **argv)
{
	struct request request = {
		.flash = FLASHSTAT_DIRECTORY,
		.records = 1000,
		.record_bytes = 256,
		.commit_every = 1,
		.file_bytes = 1048576,
		.keep = 4,
		.seed = 1,
	};
	struct measured found = {0};
	struct log log = {.folder = -1, .fd = -1};
	bool helped;
	int error;

	(void)argc;
	diag_program = "logwriter";
	if (options_walk(options, sizeof(options) / sizeof(*options), argv + 1,
			 &request, "FOLDER [OPTION...]",
			 "Appends records to a log and syncs them.", &helped))
		return helped ? EXIT_OK : EXIT_USAGE;
	if (check(&request))
		return EXIT_USAGE;
	error = log_open(&log, &request) || measure(&log, &found) ||
		tell(&log, &found);
	error |= log_close(&log);
	flash_free_blocks(&found.before.blocks);
	flash_free_blocks(&found.after.blocks);
	return error ? EXIT_RUN_FAILED : EXIT_OK;
}
