// SPDX-License-Identifier: GPL-2.0-or-later
/* The result; see tell.h. */
#include <stdlib.h>
#include <string.h>

#include "diag.h"
#include "json.h"
#include "tell.h"

static void tell_chip(struct json *json, const char *key,
		      const struct mark *later, const struct mark *earlier)
{
	const struct flash_counters *a = &earlier->counters;
	const struct flash_counters *b = &later->counters;

	if (!earlier->flash || !later->flash)
		return;
	json_object(json, key);
	json_count(json, "reads", flash_delta(b->reads, a->reads));
	json_count(json, "programs", flash_delta(b->programs, a->programs));
	json_count(json, "erases", flash_delta(b->erases, a->erases));
	json_end(json);
}

static void tell_at(struct json *json, const struct phase *phase)
{
	if (!phase->records)
		return;
	json_object(json, "at");
	json_count(json, "records", phase->records);
	json_text(json, "pattern", phase->pattern);
	json_text(json, "part", phase->part);
	json_end(json);
}

static void tell_bytes(struct json *json, uint64_t read, uint64_t written)
{
	json_object(json, "bytes");
	json_count(json, "read", read);
	json_count(json, "written", written);
	json_end(json);
}

static void tell_phase(struct json *json, const struct phase *phase)
{
	bool synced = phase->sync_ns != COUNT_MISSING;

	json_object(json, NULL);
	json_text(json, "name", phase->name);
	json_count(json, "ns", phase->ns);
	if (synced)
		json_count(json, "sync_ns", phase->sync_ns);
	json_object(json, "operations");
	for (size_t i = 0; i < phase->kinds; i++)
		json_count(json, phase->counts[i].name, phase->counts[i].made);
	json_end(json);
	tell_bytes(json, phase->read, phase->written);
	tell_chip(json, "chip", &phase->after, &phase->before);
	if (synced)
		tell_chip(json, "chip_sync", &phase->after, &phase->done);
	usage_json(json, "usage", &phase->before.usage, &phase->after.usage);
	tell_at(json, phase);
	json_end(json);
}

static const struct phase *find(const struct measured *measured,
				const char *name)
{
	for (size_t i = 0; i < measured->count; i++)
		if (!strcmp(measured->phases[i].name, name))
			return &measured->phases[i];
	return NULL;
}

/* A part of a count for each of @of; absent if one of them is not known. */
static void tell_share(struct json *json, const char *key, uint64_t count,
		       uint64_t of)
{
	if (count != COUNT_MISSING && of)
		json_real(json, key, (double)count / (double)of);
}

/* What a commit costs: the close included, which ends what commits began. */
static void tell_commits(struct json *json, const struct measured *measured)
{
	const struct phase *run = find(measured, "run");
	const struct phase *close = find(measured, "close");
	const struct mark *from, *to;
	uint64_t commits, bytes;

	if (!run || !close)
		return;
	from = &run->before;
	to = &close->after;
	commits = measured->request->transactions;
	bytes = flash_delta(to->usage.bytes_written, from->usage.bytes_written);
	if (from->flash && to->flash) {
		tell_share(json, "programs_per_commit",
			   flash_delta(to->counters.programs,
				       from->counters.programs),
			   commits);
		tell_share(
			json, "reads_per_commit",
			flash_delta(to->counters.reads, from->counters.reads),
			commits);
	}
	tell_share(json, "bytes_per_commit", bytes, commits);
	tell_share(json, "bytes_per_user_byte", bytes, run->written);
}

static void tell_figures(struct json *json, const struct measured *measured)
{
	const struct sizes *sizes = &measured->sizes;

	json_object(json, "figures");
	json_count(json, "database_bytes", sizes->database);
	json_count(json, "database_bytes_after", sizes->database_after);
	if (find(measured, "run"))
		json_count(json, "wal_bytes", sizes->wal);
	json_count(json, "heap_bytes", sizes->heap);
	tell_commits(json, measured);
	json_end(json);
}

static char *compile_options(void)
{
	char *all = text("%s", "");
	const char *option;

	for (int i = 0; (option = sqlite3_compileoption_get(i)); i++) {
		char *more = text("%s%s%s", all, i ? " " : "", option);

		free(all);
		all = more;
	}
	return all;
}

static void tell_texts(struct json *json, const struct database *database)
{
	char *options = compile_options();

	json_object(json, "texts");
	json_text(json, "sqlite", sqlite3_libversion());
	json_text(json, "sqlite_source", sqlite3_sourceid());
	json_text(json, "sqlite_options", options);
	for (int mode = 0; mode < MODES; mode++)
		json_text(json, mode_names[mode], database->modes[mode]);
	json_end(json);
	free(options);
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

static void tell_blocks(struct json *json, const struct measured *measured)
{
	const struct flash_blocks *a = &measured->before;
	const struct flash_blocks *b = &measured->after;

	if (!measured->blocks || a->count != b->count) {
		json_null(json, "per_block");
		return;
	}
	json_object(json, "per_block");
	tell_counts(json, "reads", b->reads, a->reads, b->count);
	tell_counts(json, "programs", b->programs, a->programs, b->count);
	tell_counts(json, "erases", b->erases, a->erases, b->count);
	json_end(json);
}

/* All but the rows that are there before the load. */
static void tell_totals(struct json *json, const struct measured *measured)
{
	uint64_t read = 0, written = 0;

	json_object(json, "operations");
	for (size_t i = 0; i < measured->kind_count; i++)
		json_count(json, measured->kinds[i].name,
			   measured->kinds[i].latency.count);
	json_end(json);
	for (size_t i = 1; i < measured->count; i++) {
		read += measured->phases[i].read;
		written += measured->phases[i].written;
	}
	tell_bytes(json, read, written);
	json_object(json, "latency_ns");
	for (size_t i = 0; i < measured->kind_count; i++)
		latency_json(json, measured->kinds[i].name,
			     &measured->kinds[i].latency);
	json_end(json);
}

int tell(const struct measured *measured, const struct database *database)
{
	struct json json = {.out = stdout};

	json_object(&json, NULL);
	json_text(&json, "program", "sqlbench");
	json_array(&json, "phases");
	for (size_t i = 0; i < measured->count; i++)
		tell_phase(&json, &measured->phases[i]);
	json_end(&json);
	tell_totals(&json, measured);
	tell_figures(&json, measured);
	tell_texts(&json, database);
	tell_blocks(&json, measured);
	warnings_json(&json, "warnings", &measured->warnings);
	json_end(&json);
	return json_finish(&json);
}
