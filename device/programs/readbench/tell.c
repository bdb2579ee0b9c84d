// SPDX-License-Identifier: GPL-2.0-or-later
/* The result, as docs/workloads.md has it; see session.h. */
#include <stdlib.h>

#include "diag.h"
#include "json.h"
#include "session.h"

static void tell_bytes(struct json *json, uint64_t read, uint64_t written)
{
	json_object(json, "bytes");
	json_count(json, "read", read);
	json_count(json, "written", written);
	json_end(json);
}

static void tell_chip(struct json *json, uint64_t reads, uint64_t programs,
		      uint64_t erases)
{
	json_object(json, "chip");
	json_count(json, "reads", reads);
	json_count(json, "programs", programs);
	json_count(json, "erases", erases);
	json_end(json);
}

static void tell_writing(struct json *json, const struct session *session)
{
	const struct flash_counters *before = &session->before;
	const struct flash_counters *after = &session->after;

	json_object(json, NULL);
	json_text(json, "name", "writing");
	json_count(json, "ns", session->write_ns);
	tell_bytes(json, 0, session->files.bytes);
	if (session->counted)
		tell_chip(json, flash_delta(after->reads, before->reads),
			  flash_delta(after->programs, before->programs),
			  flash_delta(after->erases, before->erases));
	json_end(json);
}

static void tell_at(struct json *json, const struct session *session,
		    const struct point *point, const struct found *found)
{
	double share = (double)found->bytes / (double)session->files.bytes;

	json_object(json, "at");
	json_count(json, "count", found->latency.count);
	json_count(json, "size", point->size);
	json_count(json, "file_bytes", session->files.bytes);
	json_real(json, "share", share);
	json_text(json, "pattern", pattern_names[point->pattern]);
	if (point->pattern == STRIDE)
		json_count(json, "stride", point->n);
	if (point->pattern == HEAD) {
		json_count(json, "head", point->n);
		json_count(json, "files", session->files.count);
	}
	json_text(json, "access", access_names[point->access]);
	json_text(json, "advice", advice_names[point->advice]);
	json_count(json, "pause_us", point->pause_us);
	json_count(json, "drop", point->drop);
	if (point->reopen)
		json_count(json, "reopen", point->reopen);
	json_end(json);
}

static void tell_point(struct json *json, const struct session *session,
		       const struct point *point, const struct found *found)
{
	static const struct usage nothing;

	json_object(json, NULL);
	json_text(json, "name", point->name);
	json_count(json, "ns", found->ns);
	json_object(json, "operations");
	json_count(json, point->name, found->latency.count);
	json_end(json);
	tell_bytes(json, found->bytes, 0);
	if (session->counted)
		tell_chip(json, found->reads, found->programs, found->erases);
	if (!point->pause_us)
		usage_json(json, "usage", &nothing, &found->usage);
	tell_at(json, session, point, found);
	json_end(json);
}

static void tell_figure(struct json *json, const struct point *point,
			const char *what, uint64_t value)
{
	char *key = text("%s_%s", point->name, what);

	json_count(json, key, value);
	free(key);
}

static void tell_figures(struct json *json, const struct session *session)
{
	json_object(json, "figures");
	for (size_t i = 0; i < session->points.count; i++) {
		const struct point *point = &session->points.all[i];
		const struct found *found = &session->found[i];

		tell_figure(json, point, "first_ns", found->first_ns);
		tell_figure(json, point, "open_ns", found->open_ns);
		if (session->counted && found->open_reads != COUNT_MISSING)
			tell_figure(json, point, "open_reads",
				    found->open_reads);
	}
	json_end(json);
}

static void tell_sums(struct json *json, const struct session *session)
{
	uint64_t bytes = 0;

	json_object(json, "operations");
	for (size_t i = 0; i < session->points.count; i++) {
		json_count(json, session->points.all[i].name,
			   session->found[i].latency.count);
		bytes += session->found[i].bytes;
	}
	json_end(json);
	tell_bytes(json, bytes, 0);
	json_object(json, "latency_ns");
	for (size_t i = 0; i < session->points.count; i++)
		latency_json(json, session->points.all[i].name,
			     &session->found[i].latency);
	json_end(json);
}

int tell(const struct session *session)
{
	struct json json = {.out = stdout};

	json_object(&json, NULL);
	json_text(&json, "program", "readbench");
	json_array(&json, "phases");
	tell_writing(&json, session);
	for (size_t i = 0; i < session->points.count; i++)
		tell_point(&json, session, &session->points.all[i],
			   &session->found[i]);
	json_end(&json);
	tell_sums(&json, session);
	tell_figures(&json, session);
	warnings_json(&json, "warnings", &session->warnings);
	json_end(&json);
	return json_finish(&json);
}
