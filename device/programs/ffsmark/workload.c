// SPDX-License-Identifier: GPL-2.0-or-later
/* Postmark's load; see workload.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checked.h"
#include "clock.h"
#include "diag.h"
#include "interrupt.h"
#include "phases.h"
#include "workload.h"

static int make_directories(struct workload *workload)
{
	uint64_t each = workload->config->subdirectories;
	uint64_t total;

	if (each < 2)
		return 0;
	total = each * config_location_count(workload->config);
	for (; workload->directories < total; workload->directories++) {
		const char *path = population_directory(
			&workload->files, workload->directories / each,
			workload->directories % each);

		if (interrupted || checked_mkdir(path))
			return -1;
	}
	return phases_sync(workload->config);
}

int workload_open(struct workload *workload, const struct config *config,
		  struct payload *payload, struct result *result)
{
	workload->config = config;
	workload->result = result;
	workload->io = (struct io){
		.buffering = config->buffering,
		.read_block = config->read_block,
		.write_block = config->write_block,
	};
	population_open(&workload->files, config);
	if (io_open(&workload->io, config_location(config, 0), payload))
		return -1;
	return make_directories(workload);
}

void workload_close(struct workload *workload)
{
	population_close(&workload->files);
	io_close(&workload->io);
}

static void record(struct workload *workload, enum op op, uint64_t start_ns)
{
	latency_add(&workload->result->latency[op], now_ns() - start_ns);
	workload->result->ops[op][workload->phase]++;
}

static int create_file(struct workload *workload)
{
	uint64_t start_ns, size;
	struct slot *slot = population_place(&workload->files, &size);

	if (!slot)
		return 0;
	workload->torn = slot;
	start_ns = now_ns();
	if (io_create(&workload->io, population_path(&workload->files, slot),
		      size))
		return -1;
	record(workload, OP_CREATE, start_ns);
	workload->torn = NULL;
	population_created(&workload->files, slot, size);
	workload->result->bytes_written += size;
	return 0;
}

static int read_file(struct workload *workload)
{
	struct slot *slot = population_draw(&workload->files);
	uint64_t start_ns = now_ns();

	if (io_read(&workload->io, population_path(&workload->files, slot),
		    slot->size))
		return -1;
	record(workload, OP_READ, start_ns);
	workload->result->bytes_read += slot->size;
	return 0;
}

static int append_file(struct workload *workload)
{
	struct slot *slot = population_draw(&workload->files);
	uint64_t growth = population_growth(&workload->files, slot);
	uint64_t start_ns;

	if (!growth)
		return 0;
	start_ns = now_ns();
	if (io_append(&workload->io, population_path(&workload->files, slot),
		      growth))
		return -1;
	record(workload, OP_APPEND, start_ns);
	population_grown(&workload->files, slot, growth);
	workload->result->bytes_written += growth;
	return 0;
}

static int delete_file(struct workload *workload, struct slot *slot)
{
	uint64_t start_ns = now_ns();

	if (checked_unlink(population_path(&workload->files, slot)))
		return -1;
	record(workload, OP_DELETE, start_ns);
	population_deleted(&workload->files, slot);
	return 0;
}

int workload_create(struct workload *workload)
{
	for (uint64_t i = 0; i < workload->config->number; i++)
		if (interrupted || create_file(workload))
			return -1;
	return 0;
}

static int access_one(struct workload *workload)
{
	int64_t bias = workload->config->bias_read;

	if (bias < 0)
		return 0;
	return population_chance(&workload->files, bias)
		       ? read_file(workload)
		       : append_file(workload);
}

static int change_one(struct workload *workload)
{
	int64_t bias = workload->config->bias_create;

	if (bias < 0)
		return 0;
	return population_chance(&workload->files, bias)
		       ? create_file(workload)
		       : delete_file(workload,
				     population_draw(&workload->files));
}

int workload_transact(struct workload *workload)
{
	const struct population *files = &workload->files;
	uint64_t *done = &workload->result->transactions;

	for (*done = 0; *done < workload->config->transactions; ++*done) {
		if (files->created == files->deleted)
			break;
		if (interrupted || access_one(workload) || change_one(workload))
			return -1;
	}
	return 0;
}

int workload_delete(struct workload *workload)
{
	for (uint64_t i = 0; i < workload->files.slot_count; i++) {
		struct slot *slot = &workload->files.slots[i];

		if (interrupted)
			return -1;
		if (slot->size && delete_file(workload, slot))
			return -1;
	}
	return 0;
}

static int remove_directories(struct workload *workload)
{
	uint64_t each = workload->config->subdirectories;
	int error = 0;

	while (workload->directories) {
		uint64_t i = --workload->directories;

		error |= checked_rmdir(population_directory(
			&workload->files, i / each, i % each));
	}
	return error;
}

int workload_tidy(struct workload *workload)
{
	struct population *files = &workload->files;
	uint64_t left = 0;

	/*
	 * A creation that failed may have made its file, unless it found
	 * another's file in its place.
	 */
	if (workload->torn && diag_errno() != EEXIST)
		unlink(population_path(files, workload->torn));
	for (uint64_t i = 0; i < files->slot_count; i++)
		if (files->slots[i].size &&
		    unlink(population_path(files, &files->slots[i])) &&
		    errno != ENOENT)
			left++;
	if (left)
		fail("%llu of the run's files could not be deleted and are "
		     "left in its locations",
		     (unsigned long long)left);
	return remove_directories(workload) | (left ? -1 : 0);
}
