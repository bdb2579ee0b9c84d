// SPDX-License-Identifier: GPL-2.0-or-later
/* The result of jobs; see report.h. */
#include <stdlib.h>

#include "diag.h"
#include "json.h"
#include "report.h"

#define NS_PER_S 1e9

static const char *const way_bytes[] = {"read", "written"};

struct clones clones_of(const struct jobs *jobs, const char *folder)
{
	struct clones clones = {0};

	for (size_t i = 0; i < jobs->count; i++)
		clones.count += jobs->all[i].numjobs;
	clones.all = allocate(clones.count, sizeof(*clones.all), "the jobs");
	clones.count = 0;
	for (size_t i = 0; i < jobs->count; i++)
		for (uint64_t n = 0; n < jobs->all[i].numjobs; n++) {
			struct clone *clone = &clones.all[clones.count++];

			clone->number = n;
			clone->found = found_open(&jobs->all[i]);
			files_name(&clone->files, &jobs->all[i], folder, n);
		}
	return clones;
}

void clones_free(struct clones *clones)
{
	for (size_t i = 0; i < clones->count; i++)
		files_free(&clones->all[i].files);
	free(clones->all);
}

/* A time that clones have worked in. */
struct span {
	uint64_t began, ended;
};

static void extend(struct span *span, const struct found *found)
{
	if (!span->ended || found->began < span->began)
		span->began = found->began;
	if (found->ended > span->ended)
		span->ended = found->ended;
}

uint64_t group_ns(const struct clones *clones, int group)
{
	struct span span = {0};

	for (size_t i = 0; i < clones->count; i++)
		if (clones->all[i].files.job->group == group)
			extend(&span, clones->all[i].found);
	return span.ended - span.began;
}

static uint64_t job_ns(const struct clones *clones, const struct job *job)
{
	struct span span = {0};

	for (size_t i = 0; i < clones->count; i++)
		if (clones->all[i].files.job == job)
			extend(&span, clones->all[i].found);
	return span.ended - span.began;
}

/* A name of a job's own; of the only job, the name alone. */
static char *own(const struct jobs *jobs, const struct job *job,
		 const char *name)
{
	return jobs->count > 1 ? text("%s_%s", job->name, name)
			       : text("%s", name);
}

static uint64_t moved(const struct clones *clones, const struct job *job,
		      enum way way)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < clones->count; i++)
		if (clones->all[i].files.job == job)
			bytes += clones->all[i].found->bytes[way];
	return bytes;
}

static uint64_t counted(const struct clones *clones, const struct job *job,
			enum kind kind)
{
	uint64_t count = 0;

	for (size_t i = 0; i < clones->count; i++)
		if (clones->all[i].files.job == job)
			count += clones->all[i].found->latency[kind].count;
	return count;
}

/* Whether a job may have operations of a kind. */
static bool may(const struct clones *clones, const struct job *job,
		enum kind kind)
{
	for (size_t i = 0; i < clones->count; i++)
		if (clones->all[i].files.job == job)
			return clones->all[i].found->latency[kind].room > 0;
	return false;
}

/* @group: the jobs of this group; below 0: of all. */
static bool among(const struct job *job, int group)
{
	return group < 0 || job->group == group;
}

static void tell_operations(struct json *json, const struct jobs *jobs,
			    const struct clones *clones, int group)
{
	json_object(json, "operations");
	for (size_t i = 0; i < jobs->count; i++)
		for (int kind = 0; kind < KINDS; kind++) {
			const struct job *job = &jobs->all[i];
			char *name = own(jobs, job, kind_names[kind]);

			if (among(job, group) && may(clones, job, kind))
				json_count(json, name,
					   counted(clones, job, kind));
			free(name);
		}
	json_end(json);
}

static void tell_bytes(struct json *json, const struct jobs *jobs,
		       const struct clones *clones, int group)
{
	json_object(json, "bytes");
	for (int way = 0; way < WAYS; way++) {
		uint64_t bytes = 0;

		for (size_t i = 0; i < jobs->count; i++)
			if (among(&jobs->all[i], group))
				bytes += moved(clones, &jobs->all[i], way);
		json_count(json, way_bytes[way], bytes);
	}
	json_end(json);
}

/* A group of one job has its name. */
static char *phase_name(const struct jobs *jobs, int group)
{
	const struct job *only = NULL;
	int count = 0;

	for (size_t i = 0; i < jobs->count; i++)
		if (jobs->all[i].group == group) {
			only = &jobs->all[i];
			count++;
		}
	return count == 1 ? text("%s", only->name)
			  : text("group_%d", group + 1);
}

static void tell_chip(struct json *json, const struct phase *phase)
{
	json_count(json, "ns", phase->ns);
	json_count(json, "sync_ns", phase->sync_ns);
	look_counts_json(json, "chip", &phase->looks[0], &phase->looks[2]);
	look_counts_json(json, "chip_sync", &phase->looks[1], &phase->looks[2]);
	usage_json(json, "usage", &phase->used[0], &phase->used[1]);
}

static void tell_phases(struct json *json, const struct jobs *jobs,
			const struct clones *clones, const struct phase *phases)
{
	json_array(json, "phases");
	json_object(json, NULL);
	json_text(json, "name", "layout");
	tell_chip(json, &phases[0]);
	json_object(json, "bytes");
	json_count(json, "read", 0);
	json_count(json, "written", phases[0].laid_out);
	json_end(json);
	json_end(json);
	for (int group = 0; group < jobs->groups; group++) {
		char *name = phase_name(jobs, group);

		json_object(json, NULL);
		json_text(json, "name", name);
		tell_chip(json, &phases[group + 1]);
		tell_operations(json, jobs, clones, group);
		tell_bytes(json, jobs, clones, group);
		json_end(json);
		free(name);
	}
	json_end(json);
}

/* All latencies of a job's clones together. */
static int tell_latency(struct json *json, const char *key,
			const struct clones *clones, const struct job *job,
			enum kind kind)
{
	struct latency all;
	int error;

	latency_open(&all, counted(clones, job, kind));
	for (size_t i = 0; i < clones->count; i++) {
		const struct latency *each =
			&clones->all[i].found->latency[kind];

		if (clones->all[i].files.job != job)
			continue;
		if (each->count > each->room)
			return fail("%s: more than %llu operations in its "
				    "time: lower runtime",
				    job->name, (unsigned long long)each->room);
		for (uint64_t n = 0; n < each->count; n++)
			latency_add(&all, each->ns[n]);
	}
	error = latency_sort(&all);
	if (!error)
		latency_json(json, key, &all);
	latency_close(&all);
	return error;
}

static int tell_latencies(struct json *json, const struct jobs *jobs,
			  const struct clones *clones)
{
	int error = 0;

	json_object(json, "latency_ns");
	for (size_t i = 0; i < jobs->count && !error; i++)
		for (int kind = 0; kind < KINDS && !error; kind++) {
			const struct job *job = &jobs->all[i];
			char *name = own(jobs, job, kind_names[kind]);

			if (may(clones, job, kind))
				error = tell_latency(json, name, clones, job,
						     kind);
			free(name);
		}
	json_end(json);
	return error;
}

static void tell_figure(struct json *json, const struct jobs *jobs,
			const struct job *job, const char *what, double value)
{
	char *name = own(jobs, job, what);

	json_real(json, name, value);
	free(name);
}

/* A job's time, bytes and requests a second, as fio has them. */
static void tell_rates(struct json *json, const struct jobs *jobs,
		       const struct clones *clones, const struct job *job)
{
	double ns = (double)job_ns(clones, job), seconds = ns / NS_PER_S;
	uint64_t reads = counted(clones, job, READ);
	uint64_t writes =
		counted(clones, job, WRITE) + counted(clones, job, WRITE_SYNC);

	tell_figure(json, jobs, job, "runtime", ns);
	if (job_reads(job)) {
		tell_figure(json, jobs, job, "read_bw",
			    (double)moved(clones, job, WAY_READ) / seconds);
		tell_figure(json, jobs, job, "read_iops",
			    (double)reads / seconds);
	}
	if (job_writes(job)) {
		tell_figure(json, jobs, job, "write_bw",
			    (double)moved(clones, job, WAY_WRITE) / seconds);
		tell_figure(json, jobs, job, "write_iops",
			    (double)writes / seconds);
	}
}

int report(const struct jobs *jobs, const struct clones *clones,
	   const struct phase *phases)
{
	struct json json = {.out = stdout};

	json_object(&json, NULL);
	tell_phases(&json, jobs, clones, phases);
	tell_operations(&json, jobs, clones, -1);
	tell_bytes(&json, jobs, clones, -1);
	json_object(&json, "figures");
	for (size_t i = 0; i < jobs->count; i++)
		tell_rates(&json, jobs, clones, &jobs->all[i]);
	json_end(&json);
	if (tell_latencies(&json, jobs, clones))
		return -1;
	look_blocks_json(&json, &phases[1].looks[0],
			 &phases[jobs->groups].looks[LOOKS - 1]);
	json_end(&json);
	return json_finish(&json);
}
