// SPDX-License-Identifier: GPL-2.0-or-later
/* A log on disk; see log.h. */
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>

#include "checked.h"
#include "clock.h"
#include "diag.h"
#include "log.h"

#define NS_PER_MS     1000000ull
#define MS_PER_S      1000ull
#define HISTORY_CHUNK 65536ull

const char *const op_names[OPS] = {"append", "commit", "record", "rotate"};

static char *path_of(const struct log *log, uint64_t number)
{
	return text("%s/log.%06llu", log->request->folder,
		    (unsigned long long)number);
}

/* Begin the next file; the one before must be closed. */
static int begin_file(struct log *log)
{
	free(log->path);
	log->path = path_of(log, ++log->newest);
	log->size = 0;
	log->fd = checked_open(log->path,
			       O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0644);
	return log->fd < 0 ? -1 : 0;
}

static int end_file(struct log *log)
{
	int fd = log->fd;

	log->fd = -1;
	return checked_close(fd, log->path);
}

static int put(struct log *log, uint64_t bytes)
{
	payload_align(&log->payload);
	if (checked_write(log->fd, payload_next(&log->payload, bytes), bytes,
			  log->path))
		return -1;
	log->size += bytes;
	return 0;
}

/* A full file of older log. */
static int write_history(struct log *log)
{
	uint64_t full = log->request->file_bytes;

	if (begin_file(log))
		return -1;
	while (log->size < full) {
		uint64_t left = full - log->size;

		if (put(log, left < HISTORY_CHUNK ? left : HISTORY_CHUNK))
			return -1;
	}
	return checked_fsync(log->fd, log->path) || end_file(log) ? -1 : 0;
}

/* Rotations that the load makes at the most. */
static uint64_t rotations(const struct request *request)
{
	uint64_t in_a_file = request->file_bytes / request->record_bytes;

	return request->records / in_a_file + 1;
}

int log_open(struct log *log, const struct request *request)
{
	uint64_t record = request->record_bytes;
	uint64_t largest = record > HISTORY_CHUNK ? record : HISTORY_CHUNK;
	uint64_t turns = rotations(request);
	uint64_t pending = request->commit_every < request->records
				   ? request->commit_every
				   : request->records;

	log->request = request;
	log->oldest = 1;
	log->fd = -1;
	payload_open(&log->payload, PAYLOAD_RANDOM, request->seed,
		     request->compressibility, largest);
	latency_open(&log->latency[OP_APPEND], request->records);
	latency_open(&log->latency[OP_COMMIT],
		     request->records / request->commit_every + turns + 1);
	latency_open(&log->latency[OP_RECORD], request->records);
	latency_open(&log->latency[OP_ROTATE], turns);
	log->begun = allocate(pending, sizeof(*log->begun),
			      "the records of a "
			      "commit");
	log->folder = checked_open(request->folder, O_RDONLY | O_DIRECTORY, 0);
	if (log->folder < 0)
		return -1;
	for (uint64_t i = 0; i < request->history; i++)
		if (write_history(log))
			return -1;
	return begin_file(log) || checked_syncfs(request->folder) ? -1 : 0;
}

static int append(struct log *log)
{
	uint64_t began = now_ns();

	if (put(log, log->request->record_bytes))
		return -1;
	latency_add(&log->latency[OP_APPEND], now_ns() - began);
	log->begun[log->pending++] = began;
	return 0;
}

static int commit(struct log *log)
{
	uint64_t began = now_ns(), ended;

	if (checked_fsync(log->fd, log->path))
		return -1;
	ended = now_ns();
	latency_add(&log->latency[OP_COMMIT], ended - began);
	for (uint64_t i = 0; i < log->pending; i++)
		latency_add(&log->latency[OP_RECORD], ended - log->begun[i]);
	log->pending = 0;
	return 0;
}

static int remove_oldest(struct log *log)
{
	char *path = path_of(log, log->oldest++);
	int error = checked_unlink(path);

	free(path);
	return error;
}

/* Go on in a new file, drop the oldest if there are too many, sync the names.
 */
static int rotate(struct log *log)
{
	uint64_t began = now_ns();

	if (end_file(log) || begin_file(log))
		return -1;
	if (log->newest - log->oldest >= log->request->keep &&
	    remove_oldest(log))
		return -1;
	if (checked_fsync(log->folder, log->request->folder))
		return -1;
	latency_add(&log->latency[OP_ROTATE], now_ns() - began);
	return 0;
}

static void pause_a_while(struct log *log)
{
	uint64_t ms = log->request->interval_ms;
	struct timespec pause = {
		.tv_sec = (time_t)(ms / MS_PER_S),
		.tv_nsec = (long)(ms % MS_PER_S * NS_PER_MS),
	};
	uint64_t began;

	if (!ms)
		return;
	began = now_ns();
	nanosleep(&pause, NULL);
	log->pause_ns += now_ns() - began;
}

int log_run(struct log *log)
{
	const struct request *request = log->request;

	for (uint64_t i = 0; i < request->records; i++) {
		if (log->size + request->record_bytes > request->file_bytes) {
			if ((log->pending && commit(log)) || rotate(log))
				return -1;
		}
		if (append(log))
			return -1;
		if (log->pending < request->commit_every)
			continue;
		if (commit(log))
			return -1;
		pause_a_while(log);
	}
	return log->pending ? commit(log) : 0;
}

int log_close(struct log *log)
{
	int error = log->fd >= 0 ? end_file(log) : 0;

	if (log->folder >= 0)
		error |= checked_close(log->folder, log->request->folder);
	free(log->path);
	free(log->begun);
	payload_close(&log->payload);
	for (int op = 0; op < OPS; op++)
		latency_close(&log->latency[op]);
	return error ? -1 : 0;
}
