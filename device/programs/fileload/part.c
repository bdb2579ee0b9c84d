// SPDX-License-Identifier: GPL-2.0-or-later
/* A part of a load; see part.h. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checked.h"
#include "clock.h"
#include "diag.h"
#include "json.h"
#include "part.h"

#define ROOM_FIRST 1024 /* calls of a kind; doubled when used up */
#define USAGES	   (sizeof(struct usage) / sizeof(uint64_t))

static const struct {
	const char *name; /* in JSON */
	const char *verb; /* for messages */
} names[CALLS] = {
	[CALL_CREATE] = {"create", "create"},
	[CALL_OPEN] = {"open", "open"},
	[CALL_WRITE] = {"write", "write"},
	[CALL_FSYNC] = {"fsync", "fsync"},
	[CALL_CLOSE] = {"close", "close"},
	[CALL_UNLINK] = {"unlink", "delete"},
};

void part_open(struct part *part, const char *name, bool prepares)
{
	*part = (struct part){.name = name, .prepares = prepares};
	for (int i = 0; i < CALLS; i++)
		latency_open(&part->each[i], ROOM_FIRST);
}

void part_close(struct part *part)
{
	for (int i = 0; i < CALLS; i++)
		latency_close(&part->each[i]);
}

static struct flash_counters look(const char *flash)
{
	struct flash_counters found;

	if (flash_read_counters(flash, &found))
		found.reads = found.programs = found.erases = COUNT_MISSING;
	return found;
}

/* What is missing once is missing in the sum. */
static void add(uint64_t *sum, uint64_t later, uint64_t earlier)
{
	uint64_t more = flash_delta(later, earlier);

	*sum = more == COUNT_MISSING || *sum == COUNT_MISSING ? COUNT_MISSING
							      : *sum + more;
}

static void add_counts(struct flash_counters *sum,
		       const struct flash_counters *later,
		       const struct flash_counters *earlier)
{
	add(&sum->reads, later->reads, earlier->reads);
	add(&sum->programs, later->programs, earlier->programs);
	add(&sum->erases, later->erases, earlier->erases);
}

static void add_usage(struct usage *sum, const struct usage *later,
		      const struct usage *earlier)
{
	/* All its members are counts of 64 bits. */
	uint64_t *to = (uint64_t *)sum;

	for (size_t i = 0; i < USAGES; i++)
		add(&to[i], ((const uint64_t *)later)[i],
		    ((const uint64_t *)earlier)[i]);
}

void part_begin(struct part *part, const char *flash)
{
	part->usage_from = usage_now();
	part->from = look(flash);
	part->began = now_ns();
}

/* Sync the file system that @path is on, be it a folder or a file. */
static int sync_there(const char *path)
{
	int fd = checked_open(path, O_RDONLY, 0);
	int error;

	if (fd < 0)
		return -1;
	error = syncfs(fd) ? fail_errno("sync", path) : 0;
	return checked_close(fd, path) ? -1 : error;
}

int part_end(struct part *part, const char *flash, const char *synced)
{
	uint64_t ended = now_ns();
	struct flash_counters done = look(flash), after = done;
	struct usage usage;
	int error = 0;

	part->ns += ended - part->began;
	if (synced) {
		ended = now_ns();
		error = sync_there(synced);
		part->sync_ns += now_ns() - ended;
		after = look(flash);
	}
	usage = usage_now();
	add_counts(&part->chip, &after, &part->from);
	add_counts(&part->chip_sync, &after, &done);
	add_usage(&part->usage, &usage, &part->usage_from);
	return error;
}

static void grow(struct latency *latency)
{
	struct latency larger;

	latency_open(&larger, 2 * latency->room);
	memcpy(larger.ns, latency->ns,
	       (size_t)latency->count * sizeof(*larger.ns));
	larger.count = latency->count;
	latency_close(latency);
	*latency = larger;
}

/* Count a call that began at @start and returned @result. */
static long done(struct part *part, enum call call, uint64_t start, long result,
		 const char *path)
{
	struct latency *latency = &part->each[call];
	uint64_t ns = now_ns() - start;

	if (result < 0)
		return fail_errno(names[call].verb, path);
	if (latency->count == latency->room)
		grow(latency);
	latency_add(latency, ns);
	return result;
}

int part_create(struct part *part, const char *path)
{
	int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
	uint64_t start = now_ns();

	return (int)done(part, CALL_CREATE, start, open(path, flags, 0644),
			 path);
}

int part_open_file(struct part *part, const char *path, int flags)
{
	uint64_t start = now_ns();

	return (int)done(part, CALL_OPEN, start,
			 open(path, O_WRONLY | O_CLOEXEC | flags), path);
}

int part_write(struct part *part, int fd, const void *data, size_t size,
	       uint64_t at, const char *path)
{
	const char *from = data;

	/* More than once only after a short write, which hides its reason. */
	while (size) {
		uint64_t start = now_ns();
		long put = done(part, CALL_WRITE, start,
				pwrite(fd, from, size, (off_t)at), path);

		if (put < 0)
			return -1;
		if (!put)
			return fail("a write to '%s' wrote nothing", path);
		part->written += (uint64_t)put;
		at += (uint64_t)put;
		from += put;
		size -= (size_t)put;
	}
	return 0;
}

int part_fsync(struct part *part, int fd, const char *path)
{
	uint64_t start = now_ns();

	return (int)done(part, CALL_FSYNC, start, fsync(fd), path);
}

int part_close_file(struct part *part, int fd, const char *path)
{
	uint64_t start = now_ns();

	return (int)done(part, CALL_CLOSE, start, close(fd), path);
}

int part_unlink(struct part *part, const char *path)
{
	uint64_t start = now_ns();

	return (int)done(part, CALL_UNLINK, start, unlink(path), path);
}

/* A kind of call as the result names it. */
static char *kind(const struct part *part, int call)
{
	if (part->prepares)
		return text("%s_%s", part->name, names[call].name);
	return text("%s", names[call].name);
}

void part_operations_json(struct json *json, const struct part *part)
{
	for (int i = 0; i < CALLS; i++) {
		char *name = kind(part, i);

		if (part->each[i].count)
			json_count(json, name, part->each[i].count);
		free(name);
	}
}

int part_latencies_json(struct json *json, struct part *part)
{
	for (int i = 0; i < CALLS; i++) {
		char *name = kind(part, i);
		int error = latency_sort(&part->each[i]);

		if (!error && part->each[i].count)
			latency_json(json, name, &part->each[i]);
		free(name);
		if (error)
			return -1;
	}
	return 0;
}

static void counts_json(struct json *json, const char *key,
			const struct flash_counters *counts)
{
	if (counts->reads == COUNT_MISSING)
		return;
	json_object(json, key);
	json_count(json, "reads", counts->reads);
	json_count(json, "programs", counts->programs);
	json_count(json, "erases", counts->erases);
	json_end(json);
}

void part_json(struct json *json, const struct part *part)
{
	static const struct usage nothing;

	json_object(json, NULL);
	json_text(json, "name", part->name);
	json_count(json, "ns", part->ns);
	if (part->sync_ns)
		json_count(json, "sync_ns", part->sync_ns);
	json_object(json, "operations");
	part_operations_json(json, part);
	json_end(json);
	json_object(json, "bytes");
	json_count(json, "read", 0);
	json_count(json, "written", part->written);
	json_end(json);
	counts_json(json, "chip", &part->chip);
	if (part->sync_ns)
		counts_json(json, "chip_sync", &part->chip_sync);
	usage_json(json, "usage", &nothing, &part->usage);
	json_end(json);
}
