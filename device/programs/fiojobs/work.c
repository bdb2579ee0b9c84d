// SPDX-License-Identifier: GPL-2.0-or-later
/* A job at work; see work.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "checked.h"
#include "clock.h"
#include "diag.h"
#include "places.h"
#include "work.h"

#define NS_PER_US    1000ull
#define NS_PER_S     1000000000ull
#define UNKNOWN_ROOM (1u << 20) /* operations, where time alone ends a job */
#define ALIGNMENT    4096

const char *const kind_names[] = {"read", "write", "write_sync", "fsync",
				  "fdatasync"};

struct worker {
	const struct job *job;
	struct files *files;
	struct found *found;
	struct payload payload;
	unsigned char *buffer;
	uint64_t random;       /* state of what is drawn */
	uint64_t turn;	       /* the file whose turn it is */
	uint64_t writes;       /* so far, in all loops */
	uint64_t loop_done;    /* bytes of this loop */
	uint64_t loop_count;   /* requests of this loop */
	uint64_t done;	       /* requests so far */
	struct file *unsynced; /* written last, no sync looked at since */
	uint64_t due[WAYS];    /* when the rate allows the next, ns */
};

static void *shared(uint64_t bytes, int flags)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS | flags, -1, 0);

	if (at == MAP_FAILED) {
		fail("out of memory: %llu bytes for latencies",
		     (unsigned long long)bytes);
		exit(EXIT_RUN_FAILED);
	}
	return at;
}

/* Whether a job has operations of a kind. */
static bool has(const struct job *job, enum kind kind)
{
	switch (kind) {
	case READ:
		return job_reads(job);
	case WRITE:
		return job_writes(job) && !job->sync;
	case WRITE_SYNC:
		return job_writes(job) && job->sync;
	case FSYNC:
		return job_writes(job) &&
		       (job->fsync || job->end_fsync || job->fsync_on_close);
	case FDATASYNC:
		return job_writes(job) && job->fdatasync;
	case KINDS:
		break;
	}
	return false;
}

struct found *found_open(const struct job *job)
{
	struct found *found = shared(sizeof(*found), MAP_POPULATE);
	uint64_t a_loop =
		job_loop_bytes(job) / job_unit(job) + 1 + job->nrfiles;
	uint64_t room = job->time_based ? UNKNOWN_ROOM : a_loop * job->loops;

	for (enum kind kind = 0; kind < KINDS; kind++) {
		if (!has(job, kind))
			continue;
		found->latency[kind].room = room;
		found->latency[kind].ns =
			shared(room * sizeof(uint64_t),
			       job->time_based ? 0 : MAP_POPULATE);
	}
	return found;
}

static void sleep_ns(uint64_t ns)
{
	struct timespec pause = {
		.tv_sec = (time_t)(ns / NS_PER_S),
		.tv_nsec = (long)(ns % NS_PER_S),
	};

	while (nanosleep(&pause, &pause) && errno == EINTR)
		;
}

static void sleep_until(uint64_t ns)
{
	uint64_t now = now_ns();

	if (now < ns)
		sleep_ns(ns - now);
}

static void begin_passes(struct worker *worker)
{
	for (uint64_t i = 0; i < worker->job->nrfiles; i++)
		places_begin(worker->files, &worker->files->all[i],
			     &worker->random);
}

/* The file of the next request; NULL: no file has room for another. */
static struct file *next_file(struct worker *worker, uint64_t bytes)
{
	const struct job *job = worker->job;

	for (uint64_t tried = 0; tried < job->nrfiles; tried++) {
		struct file *file = &worker->files->all[worker->turn];
		bool fits = file->left >= bytes;

		if (job->file_service_type == 0 || !fits)
			worker->turn = (worker->turn + 1) % job->nrfiles;
		if (fits)
			return file;
	}
	return NULL;
}

static enum way next_way(struct worker *worker)
{
	const struct job *job = worker->job;

	if (!job_writes(job))
		return WAY_READ;
	if (!job_reads(job))
		return WAY_WRITE;
	return draw_below(&worker->random, 100) < job->rwmixread ? WAY_READ
								 : WAY_WRITE;
}

/* ioengine=sync moves the file's position and works there. */
static int seek(struct worker *worker, struct file *file, uint64_t offset)
{
	if (!worker->job->ioengine || file->here == offset)
		return 0;
	if (lseek(file->fd, (off_t)offset, SEEK_SET) < 0)
		return fail_errno("seek in", file->path);
	return 0;
}

static int move(struct worker *worker, struct file *file, enum way way,
		uint64_t bytes, uint64_t offset)
{
	bool here = worker->job->ioengine;
	ssize_t got;

	if (seek(worker, file, offset))
		return -1;
	if (way == WAY_READ)
		got = here ? read(file->fd, worker->buffer, bytes)
			   : pread(file->fd, worker->buffer, bytes,
				   (off_t)offset);
	else
		got = here ? write(file->fd, worker->buffer, bytes)
			   : pwrite(file->fd, worker->buffer, bytes,
				    (off_t)offset);
	file->here = offset + bytes;
	if (got == (ssize_t)bytes)
		return 0;
	if (got < 0)
		return fail_errno(way == WAY_READ ? "read" : "write",
				  file->path);
	return fail("%s: %zd of %llu bytes were moved", file->path, got,
		    (unsigned long long)bytes);
}

static int sync_file(struct worker *worker, struct file *file, enum kind kind)
{
	uint64_t began = now_ns();

	if (kind == FDATASYNC ? fdatasync(file->fd) : fsync(file->fd))
		return fail_errno("sync", file->path);
	latency_add(&worker->found->latency[kind], now_ns() - began);
	return 0;
}

static bool due(uint64_t every, uint64_t writes)
{
	return every && writes % every == 0;
}

/* fio syncs before the next request, so nothing follows the last write. */
static int sync_if_due(struct worker *worker)
{
	const struct job *job = worker->job;
	struct file *file = worker->unsynced;

	worker->unsynced = NULL;
	if (!file)
		return 0;
	if (due(job->fsync, worker->writes))
		return sync_file(worker, file, FSYNC);
	if (due(job->fdatasync, worker->writes))
		return sync_file(worker, file, FDATASYNC);
	return 0;
}

static void wait_for_rate(struct worker *worker, enum way way)
{
	const struct job *job = worker->job;

	if (job->rate.of[way] || job->rate_iops.of[way])
		sleep_until(worker->due[way]);
}

/* When the next request is due, if this much has been moved by now. */
static void set_due(struct worker *worker, enum way way, uint64_t bytes)
{
	const struct job *job = worker->job;
	double rate = (double)job->rate.of[way];
	double iops = (double)job->rate_iops.of[way];

	if (iops > 0)
		worker->due[way] += (uint64_t)((double)NS_PER_S / iops);
	else if (rate > 0)
		worker->due[way] +=
			(uint64_t)((double)bytes * (double)NS_PER_S / rate);
}

static void think(struct worker *worker)
{
	const struct job *job = worker->job;

	if (job->thinktime && worker->done % job->thinktime_blocks == 0)
		sleep_ns(job->thinktime * NS_PER_US);
}

static int ask(struct worker *worker, struct file *file, enum way way)
{
	const struct job *job = worker->job;
	struct place place =
		place_next(worker->files, file, way, &worker->random);
	uint64_t bytes = place.bytes, began;
	enum kind kind = way == WAY_READ ? READ
			 : job->sync	 ? WRITE_SYNC
					 : WRITE;

	if (way == WAY_WRITE)
		memcpy(worker->buffer, payload_next(&worker->payload, bytes),
		       bytes);
	wait_for_rate(worker, way);
	began = now_ns();
	if (move(worker, file, way, bytes, job->offset + place.offset))
		return -1;
	latency_add(&worker->found->latency[kind], now_ns() - began);
	set_due(worker, way, bytes);
	file->left -= bytes < file->left ? bytes : file->left;
	worker->found->bytes[way] += bytes;
	worker->loop_done += bytes;
	worker->done++;
	worker->loop_count++;
	if (way == WAY_WRITE) {
		worker->writes++;
		worker->unsynced = file;
	}
	think(worker);
	return 0;
}

/* Whether a loop has moved all that it may. */
static bool is_loop_done(const struct worker *worker)
{
	const struct job *job = worker->job;

	return worker->loop_done >= job_loop_bytes(job) ||
	       (job->number_ios && worker->loop_count >= job->number_ios);
}

static bool time_is_up(const struct worker *worker)
{
	uint64_t limit = worker->job->runtime * NS_PER_S;

	if (worker->found->stopped)
		return true;
	return limit && now_ns() - worker->found->began >= limit;
}

/* Requests until the loop's bytes are moved, or no more fit, or time is up. */
static int ask_all(struct worker *worker)
{
	const struct job *job = worker->job;

	begin_passes(worker);
	worker->loop_done = worker->loop_count = 0;
	while (!is_loop_done(worker) && !time_is_up(worker)) {
		enum way way = next_way(worker);
		struct file *file = next_file(worker, job->bs.of[way]);

		if (!file && !job->io_size)
			return 0;
		if (!file) {
			begin_passes(worker);
			continue;
		}
		if (sync_if_due(worker) || ask(worker, file, way))
			return -1;
	}
	return 0;
}

static int sync_all(struct worker *worker)
{
	for (uint64_t i = 0; i < worker->job->nrfiles; i++)
		if (sync_file(worker, &worker->files->all[i], FSYNC))
			return -1;
	worker->unsynced = NULL; /* as fio since 3.38, the next loop does not */
	return 0;
}

static int loop(struct worker *worker)
{
	const struct job *job = worker->job;
	bool ends = job->end_fsync || job->fsync_on_close;

	if (files_open(worker->files) || ask_all(worker))
		return -1;
	if (job_writes(job) && ends && sync_all(worker))
		return -1;
	return files_close(worker->files);
}

static void prepare(struct worker *worker, uint64_t clone)
{
	const struct job *job = worker->job;
	uint64_t read = job->bs_max.of[WAY_READ];
	uint64_t write = job->bs_max.of[WAY_WRITE];
	uint64_t seed = job->randseed + clone * NS_PER_S;

	worker->random = seed;
	payload_open(&worker->payload, PAYLOAD_RANDOM, seed,
		     (double)job->buffer_compress_percentage / 100, write);
	if (posix_memalign((void **)&worker->buffer, ALIGNMENT,
			   read > write ? read : write)) {
		fail("out of memory: %llu bytes of a request",
		     (unsigned long long)(read > write ? read : write));
		exit(EXIT_RUN_FAILED);
	}
	memset(worker->buffer, 0, read > write ? read : write);
}

int work(struct files *files, uint64_t clone, struct found *found)
{
	struct worker worker = {
		.job = files->job, .files = files, .found = found};
	const struct job *job = files->job;
	uint64_t loops = job->loops;

	prepare(&worker, clone);
	sleep_ns(job->startdelay * NS_PER_S);
	found->began = now_ns();
	worker.due[WAY_READ] = worker.due[WAY_WRITE] = found->began;
	do {
		if (loop(&worker))
			return -1;
	} while (job->time_based ? !time_is_up(&worker)
				 : --loops && !time_is_up(&worker));
	found->ended = now_ns();
	return job->unlink ? files_unlink(files) : 0;
}
