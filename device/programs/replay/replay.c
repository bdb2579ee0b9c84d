// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * replay: makes the calls of a program that were recorded by strace.
 *
 * Reads a recorded load (docs/replay.md; nandlab workload from-strace makes
 * one), makes what it finds there, syncs it, and makes its calls below a folder
 * in the order of their starts, one after the other, whatever processes made
 * them. Each call's latency is recorded; the time between calls is slept and in
 * no latency. At the end the file system is synced.
 *
 * Needs a folder without the names of the load. Reads what the chip counted of
 * each block (--flash) before the calls and after the last sync. Costs 8 bytes
 * of memory a call, and 24 for what it begins with.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "clock.h"
#include "diag.h"
#include "flashstat.h"
#include "json.h"
#include "looks.h"
#include "usage.h"
#include "options.h"
#include "pagecache.h"
#include "play.h"
#include "takes.h"
#include "warnings.h"

#define THINK_MOST 1e6
#define SEED_MOST  1e12

struct request {
	const char *script, *folder;
	const char *flash; /* directory of the chip's statistics */
	double think;	   /* what times between calls are multiplied by */
	double compressibility;
	uint64_t seed;
	int payload; /* the position in payload_names */
	int cold;    /* the kernel forgets what it cached before the calls */
};

/* A phase: its times, and what the chip counted. */
struct phase {
	uint64_t ns, sync_ns;
	bool flash; /* the chip's statistics could be read */
	struct flash_counters begin, done, end;
	struct usage used, used_end;
};

static int on_think(void *context, const char *value)
{
	double *think = &((struct request *)context)->think;
	char *end;

	*think = strtod(value, &end);
	if (*end || end == value || !(*think >= 0 && *think <= THINK_MOST))
		return fail("--think %s: expected 0 to %g", value, THINK_MOST);
	return 0;
}

static int on_compressibility(void *context, const char *value)
{
	return take_share(&((struct request *)context)->compressibility,
			  "compressibility", value);
}

static int on_payload(void *context, const char *value)
{
	return take_choice(&((struct request *)context)->payload, "payload",
			   value, payload_names);
}

static const char *const caches[] = {"warm", "cold", NULL};

static int on_cache(void *context, const char *value)
{
	return take_choice(&((struct request *)context)->cold, "cache", value,
			   caches);
}

TAKE_COUNT(seed, "seed", 0, SEED_MOST)
TAKE_TEXT(flash)

static int on_argument(void *context, const char *value)
{
	struct request *request = context;

	if (request->folder)
		return fail("'%s' is one argument too many", value);
	*(request->script ? &request->folder : &request->script) = value;
	return 0;
}

static const struct option_decl options[] = {
	{NULL, "SCRIPT FOLDER", "the recorded load, and where it is made",
	 on_argument},
	{"think", "FACTOR",
	 "what times between calls are multiplied by; 0: none (1)", on_think},
	{"payload", "KIND", "values of written bytes: random or postmark",
	 on_payload},
	{"compressibility", "SHARE",
	 "share of the data that a compressor can take out (0)",
	 on_compressibility},
	{"cache", "cold|warm",
	 "whether the kernel's caches are emptied before the calls (warm)",
	 on_cache},
	{"seed", "N", "of the data (1)", on_seed},
	{"flash", "DIR", "the chip's statistics (" FLASHSTAT_DIRECTORY ")",
	 on_flash},
};

static int count_flash(const struct request *request, const struct phase *phase,
		       struct flash_counters *counters)
{
	if (phase->flash && flash_read_counters(request->flash, counters))
		return fail_errno("read the chip's statistics in",
				  request->flash);
	return 0;
}

static void phase_begin(const struct request *request, struct phase *phase)
{
	phase->used = usage_now();
	phase->flash = !flash_read_counters(request->flash, &phase->begin);
}

static int phase_end(const struct request *request, struct phase *phase)
{
	uint64_t began;

	if (count_flash(request, phase, &phase->done))
		return -1;
	began = now_ns();
	if (checked_syncfs(request->folder))
		return -1;
	phase->sync_ns = now_ns() - began;
	if (count_flash(request, phase, &phase->end))
		return -1;
	phase->used_end = usage_now();
	return 0;
}

static int prepare(const struct request *request, struct load *load,
		   struct player *player, struct phase *phase)
{
	uint64_t began;

	phase_begin(request, phase);
	began = now_ns();
	if (play_before(load, player))
		return -1;
	phase->ns = now_ns() - began;
	if (phase_end(request, phase))
		return -1;
	return request->cold ? pagecache_drop(PAGECACHE_CONTROL) : 0;
}

/* looks: two, of the chip before the calls and when all is synced. */
static int replay(const struct request *request, struct load *load,
		  struct player *player, struct phase *phase,
		  struct played *played, struct look *looks)
{
	if (look_at(&looks[0], request->flash))
		return -1;
	phase_begin(request, phase);
	if (play_calls(load, player, request->think, played))
		return -1;
	phase->ns = played->ns;
	if (phase_end(request, phase))
		return -1;
	return look_at(&looks[1], request->flash);
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

static void tell_operations(struct json *json, const struct played *played)
{
	json_object(json, "operations");
	for (int kind = 0; kind < KINDS; kind++)
		if (played->latency[kind].count)
			json_count(json, kind_names[kind],
				   played->latency[kind].count);
	json_end(json);
}

static void tell_bytes(struct json *json, const struct played *played)
{
	json_object(json, "bytes");
	json_count(json, "read", played->bytes_read);
	json_count(json, "written", played->bytes_written);
	json_end(json);
}

static void tell_phase(struct json *json, const char *name,
		       const struct phase *phase, const struct played *played)
{
	json_object(json, NULL);
	json_text(json, "name", name);
	json_count(json, "ns", phase->ns);
	json_count(json, "sync_ns", phase->sync_ns);
	if (played) {
		tell_operations(json, played);
		tell_bytes(json, played);
	}
	if (phase->flash) {
		tell_use(json, "chip", &phase->end, &phase->begin);
		tell_use(json, "chip_sync", &phase->end, &phase->done);
	}
	usage_json(json, "usage", &phase->used, &phase->used_end);
	json_end(json);
}

static void tell_figures(struct json *json, const struct load *load,
			 const struct played *played)
{
	const struct latency *fsync = &played->latency[KIND_FSYNC];

	json_object(json, "figures");
	json_count(json, "prepared", load->before);
	json_count(json, "think", played->think_ns);
	json_count(json, "unlike", played->unlike);
	if (fsync->count)
		json_count(json, "fsync_p99", latency_rank(fsync, 990));
	json_end(json);
}

static int tell(const struct load *load, const struct phase *phases,
		const struct played *played, const struct look *looks,
		const struct warnings *warnings)
{
	struct json json = {.out = stdout};

	json_object(&json, NULL);
	json_text(&json, "program", "replay");
	json_array(&json, "phases");
	tell_phase(&json, "prepare", &phases[0], NULL);
	tell_phase(&json, "replay", &phases[1], played);
	json_end(&json);
	tell_operations(&json, played);
	tell_bytes(&json, played);
	json_object(&json, "latency_ns");
	for (int kind = 0; kind < KINDS; kind++)
		if (played->latency[kind].count)
			latency_json(&json, kind_names[kind],
				     &played->latency[kind]);
	json_end(&json);
	tell_figures(&json, load, played);
	look_blocks_json(&json, &looks[0], &looks[1]);
	warnings_json(&json, "warnings", warnings);
	json_end(&json);
	return json_finish(&json);
}

static int run(const struct request *request, struct load *load)
{
	struct player player = {.root = -1};
	struct phase phases[2] = {0};
	struct look looks[2] = {0};
	struct warnings warnings = {0};
	struct played played;
	int error;

	played_open(&played, load);
	error = player_open(&player, request->folder, load->largest,
			    (enum payload_kind)request->payload, request->seed,
			    request->compressibility) ||
		prepare(request, load, &player, &phases[0]) ||
		replay(request, load, &player, &phases[1], &played, looks);
	if (!error && played.unlike)
		warnings_add(&warnings,
			     "unlike: %llu calls returned otherwise than in "
			     "the trace; the first: %s",
			     (unsigned long long)played.unlike, played.first);
	if (!error)
		error = tell(load, phases, &played, looks, &warnings);
	look_free(&looks[0]);
	look_free(&looks[1]);
	player_close(&player);
	played_close(&played);
	warnings_close(&warnings);
	return error;
}

int main(int argc, char **argv)
{
	struct request request = {
		.flash = FLASHSTAT_DIRECTORY,
		.think = 1,
		.seed = 1,
	};
	struct load load;
	bool helped;
	int error;

	(void)argc;
	diag_program = "replay";
	if (options_walk(options, sizeof(options) / sizeof(*options), argv + 1,
			 &request, "SCRIPT FOLDER [OPTION...]",
			 "Makes the calls of a program that strace recorded.",
			 &helped))
		return helped ? EXIT_OK : EXIT_USAGE;
	if (!request.folder)
		return fail("SCRIPT and FOLDER are needed"), EXIT_USAGE;
	if (load_open(&load, request.script)) {
		load_close(&load);
		return EXIT_USAGE;
	}
	error = run(&request, &load);
	load_close(&load);
	return error ? EXIT_RUN_FAILED : EXIT_OK;
}
