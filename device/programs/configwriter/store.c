// SPDX-License-Identifier: GPL-2.0-or-later
/* A device's settings; see store.h. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "checked.h"
#include "clock.h"
#include "diag.h"
#include "store.h"

#define NS_PER_MS 1000000ull
#define MS_PER_S  1000ull

const char *const op_names[OPS] = {"write", "fsync", "rename", "fsync_folder",
				   "save"};

/* Add what passed since @began, and begin anew. */
static void lap(struct store *store, enum op op, uint64_t *began)
{
	uint64_t now = now_ns();

	latency_add(&store->latency[op], now - *began);
	*began = now_ns();
}

/* Write a file that is not there, and sync it. */
static int write_new(struct store *store, const char *path, uint64_t *began)
{
	uint64_t bytes = store->request->bytes;
	int fd = checked_open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
	int error;

	if (fd < 0)
		return -1;
	payload_align(&store->payload);
	error = checked_write(fd, payload_next(&store->payload, bytes), bytes,
			      path);
	if (!error) {
		if (began)
			lap(store, OP_WRITE, began);
		error = checked_fsync(fd, path);
		if (began)
			lap(store, OP_FSYNC, began);
	}
	return checked_close(fd, path) || error ? -1 : 0;
}

static int replace(struct store *store, const char *fresh, const char *path)
{
	uint64_t start = now_ns();
	uint64_t began = start;

	if (write_new(store, fresh, &began))
		return -1;
	began = now_ns();
	if (rename(fresh, path))
		return fail_errno("rename", fresh);
	lap(store, OP_RENAME, &began);
	if (checked_fsync(store->folder, store->request->folder))
		return -1;
	lap(store, OP_FSYNC_FOLDER, &began);
	latency_add(&store->latency[OP_SAVE], now_ns() - start);
	return 0;
}

static char *path_of(const struct store *store, uint64_t file, bool fresh)
{
	return text("%s/config.%06llu%s", store->request->folder,
		    (unsigned long long)file, fresh ? ".new" : "");
}

static int save(struct store *store, uint64_t file)
{
	char *fresh = path_of(store, file, true);
	char *path = path_of(store, file, false);
	int error = replace(store, fresh, path);

	free(fresh);
	free(path);
	return error;
}

static int make(struct store *store, uint64_t file)
{
	char *path = path_of(store, file, false);
	int error = write_new(store, path, NULL);

	free(path);
	return error;
}

int store_make(struct store *store)
{
	const struct request *request = store->request;

	for (uint64_t file = 0; file < request->files; file++) {
		if (make(store, file))
			return -1;
		if (request->time_making &&
		    checked_fsync(store->folder, request->folder))
			return -1;
	}
	return request->time_making ? 0 : checked_syncfs(request->folder);
}

int store_open(struct store *store, const struct request *request)
{
	store->request = request;
	payload_open(&store->payload, PAYLOAD_RANDOM, request->seed,
		     request->compressibility, request->bytes);
	for (int op = 0; op < OPS; op++)
		latency_open(&store->latency[op],
			     request->files * request->rounds);
	store->folder =
		checked_open(request->folder, O_RDONLY | O_DIRECTORY, 0);
	return store->folder < 0 ? -1 : 0;
}

static void pause_a_while(struct store *store)
{
	uint64_t ms = store->request->interval_ms;
	struct timespec pause = {
		.tv_sec = (time_t)(ms / MS_PER_S),
		.tv_nsec = (long)(ms % MS_PER_S * NS_PER_MS),
	};
	uint64_t began;

	if (!ms)
		return;
	began = now_ns();
	nanosleep(&pause, NULL);
	store->pause_ns += now_ns() - began;
}

int store_run(struct store *store)
{
	const struct request *request = store->request;

	for (uint64_t round = 0; round < request->rounds; round++)
		for (uint64_t file = 0; file < request->files; file++) {
			if (save(store, file))
				return -1;
			pause_a_while(store);
		}
	return 0;
}

int store_close(struct store *store)
{
	int error = 0;

	if (store->folder >= 0)
		error = checked_close(store->folder, store->request->folder);
	payload_close(&store->payload);
	for (int op = 0; op < OPS; op++)
		latency_close(&store->latency[op]);
	return error;
}
