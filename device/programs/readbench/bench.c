// SPDX-License-Identifier: GPL-2.0-or-later
/* A point, run; see bench.h. */
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "access.h"
#include "bench.h"
#include "checked.h"
#include "clock.h"
#include "diag.h"
#include "json.h"
#include "places.h"

#define NS_PER_US 1000ull
#define NS_PER_MS 1000000ull
#define NS_PER_S  1000000000ull
#define PATIENCE  100 /* so many rests are waited for one */
#define LOOKS	  10  /* at the chip, in a rest */
#define OWN_FILE  "/proc/self/exe"
#define NOT_KNOWN COUNT_MISSING

static void sleep_ns(uint64_t ns)
{
	struct timespec pause = {
		.tv_sec = (time_t)(ns / NS_PER_S),
		.tv_nsec = (long)(ns % NS_PER_S),
	};

	nanosleep(&pause, NULL);
}

/* Sync everything, then drop what is clean: 1 or 3, as the kernel counts. */
static int drop(const struct bench *bench, const struct point *point)
{
	const char *words = point->drop == 1 ? "1\n" : "3\n";
	int fd, error;

	sync();
	fd = checked_open(bench->control, O_WRONLY, 0);
	if (fd < 0)
		return fail("the caches were not dropped: be root");
	error = checked_write(fd, words, 2, bench->control);
	return checked_close(fd, bench->control) ? -1 : error;
}

static int look(const struct bench *bench, struct flash_counters *counters)
{
	if (!bench->counted)
		return 0;
	if (flash_read_counters(bench->flash, counters))
		return fail_errno("read the chip's statistics in",
				  bench->flash);
	return 0;
}

/* Wait until the chip has been idle for a while, if it counts that. */
static int rest(const struct bench *bench, const struct point *point)
{
	uint64_t quiet = bench->rest_ms * NS_PER_MS;
	uint64_t deadline = now_ns() + PATIENCE * quiet;
	struct flash_counters counters = {.idle_ns = NOT_KNOWN};

	while (bench->rest_ms) {
		if (look(bench, &counters))
			return -1;
		if (counters.idle_ns >= quiet)
			return 0;
		if (now_ns() >= deadline) {
			warnings_add(bench->warnings,
				     "not-at-rest: the chip was still at work "
				     "when %s began",
				     point->name);
			return 0;
		}
		sleep_ns(quiet / LOOKS);
	}
	return 0;
}

/* The request's data, as the map or the buffer has it. */
static int verify(const struct bench *bench, const struct file *file,
		  const struct reader *reader, const struct place *place)
{
	const unsigned char *data =
		reader->map ? (const unsigned char *)reader->map + place->offset
			    : reader->buffer;

	return files_check(bench->files, file, data, place->offset,
			   place->bytes);
}

/* Nothing is printed or counted between the two looks at the clock. */
static int ask_all(const struct bench *bench, const struct point *point,
		   const struct file *file, struct reader *reader,
		   const struct places *places, struct latency *latency)
{
	for (uint64_t i = 0; i < places->count; i++) {
		const struct place *place = &places->all[i];
		uint64_t began;

		if (point->pause_us && latency->count)
			sleep_ns(point->pause_us * NS_PER_US);
		began = now_ns();
		if (reader->ask(reader, place->offset, place->bytes))
			return -1;
		latency_add(latency, now_ns() - began);
		if (bench->verify && verify(bench, file, reader, place))
			return -1;
	}
	return 0;
}

static void add(uint64_t *sum, uint64_t later, uint64_t earlier)
{
	uint64_t delta = flash_delta(later, earlier);

	if (*sum != NOT_KNOWN)
		*sum = delta == NOT_KNOWN ? NOT_KNOWN : *sum + delta;
}

static void add_usage(struct usage *sum, const struct usage *later,
		      const struct usage *earlier)
{
	add(&sum->idle_ns, later->idle_ns, earlier->idle_ns);
	add(&sum->busy_ns, later->busy_ns, earlier->busy_ns);
	add(&sum->warped_ns, later->warped_ns, earlier->warped_ns);
	add(&sum->bytes_read, later->bytes_read, earlier->bytes_read);
	add(&sum->bytes_written, later->bytes_written, earlier->bytes_written);
	add(&sum->register_hits, later->register_hits, earlier->register_hits);
}

/* Requests in an open file, all or one, between two looks at the chip. */
static int stretch(const struct bench *bench, const struct point *point,
		   const struct file *file, struct reader *reader,
		   const struct places *places, struct found *found)
{
	struct flash_counters before, after;
	struct usage used, used_after;

	if (look(bench, &before))
		return -1;
	used = usage_now();
	if (ask_all(bench, point, file, reader, places, &found->latency))
		return -1;
	used_after = usage_now();
	if (look(bench, &after))
		return -1;
	add_usage(&found->usage, &used_after, &used);
	if (!bench->counted)
		return 0;
	add(&found->reads, after.reads, before.reads);
	add(&found->programs, after.programs, before.programs);
	add(&found->erases, after.erases, before.erases);
	return 0;
}

static int open_counted(const struct bench *bench, const struct point *point,
			const struct file *file, struct reader *reader,
			struct found *found)
{
	struct flash_counters before, after;
	uint64_t began;

	if (look(bench, &before))
		return -1;
	began = now_ns();
	if (access_open(reader, point, file->path, file->bytes, bench->buffer))
		return -1;
	found->open_ns += now_ns() - began;
	if (look(bench, &after)) {
		access_close(reader);
		return -1;
	}
	if (bench->counted)
		add(&found->open_reads, after.reads, before.reads);
	return 0;
}

static int run_file(const struct bench *bench, const struct point *point,
		    const struct file *file, struct found *found)
{
	struct places places, part;
	struct reader reader;
	int error = 0;

	places_open(&places, point, file->bytes, bench->seed);
	part.count = point->reopen ? 1 : places.count;
	for (uint64_t i = 0; i < places.count && !error; i += part.count) {
		part.all = places.all + i;
		error = open_counted(bench, point, file, &reader, found);
		if (error)
			break;
		error = stretch(bench, point, file, &reader, &part, found);
		error |= access_close(&reader);
	}
	for (uint64_t i = 0; i < places.count; i++)
		found->bytes += places.all[i].bytes;
	places_close(&places);
	return error;
}

/*
 * One request of the point's way on the program's own file, which is on no
 * flash: the first of the point finds the code for it in memory.
 */
static int warm(const struct bench *bench, const struct point *point)
{
	struct point plain = *point;
	struct reader reader;
	int error;

	plain.advice = 0;
	if (access_open(&reader, &plain, OWN_FILE, 1, bench->buffer))
		return -1;
	error = reader.ask(&reader, 0, 1);
	return access_close(&reader) ? -1 : error;
}

int bench_point(const struct bench *bench, const struct point *point,
		struct found *found)
{
	const struct files *files = bench->files;
	uint64_t requests = 0;

	for (uint64_t i = 0; i < files->count; i++)
		requests += places_count(point, files->all[i].bytes);
	memset(found, 0, sizeof(*found));
	latency_open(&found->latency, requests);
	if (drop(bench, point) || rest(bench, point) || warm(bench, point))
		return -1;
	for (uint64_t i = 0; i < files->count; i++)
		if (run_file(bench, point, &files->all[i], found))
			return -1;
	found->first_ns = found->latency.ns[0];
	for (uint64_t i = 0; i < requests; i++)
		found->ns += found->latency.ns[i];
	return latency_sort(&found->latency);
}

void bench_free(struct found *found)
{
	latency_close(&found->latency);
}
