// SPDX-License-Identifier: GPL-2.0-or-later
/* The order of things in a run; see run.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "checked.h"
#include "diag.h"
#include "fill.h"
#include "interrupt.h"
#include "pagecache.h"
#include "run.h"
#include "workload.h"

struct run {
	const struct config *config;
	struct result *result;
	const char *drop_control;
	FILE *progress;
	struct phases phases;
	struct payload payload, fill_payload;
	struct workload workload;
	bool valid_data; /* the fill's valid file is there */
};

/* The most operations of each kind that there can be. */
static void reserve_latencies(const struct config *config,
			      struct result *result)
{
	bool accesses = config->bias_read >= 0;
	bool changes = config->bias_create >= 0;
	uint64_t most = config->number + (changes ? config->transactions : 0);

	latency_open(&result->latency[OP_CREATE], most);
	latency_open(&result->latency[OP_DELETE], most);
	latency_open(&result->latency[OP_READ],
		     accesses ? config->transactions : 0);
	latency_open(&result->latency[OP_APPEND],
		     accesses ? config->transactions : 0);
}

static void say(struct run *run, const char *what)
{
	if (run->config->report == REPORT_VERBOSE)
		fprintf(run->progress, "%s\n", what);
	fflush(run->progress);
}

static int do_fill(struct run *run)
{
	if (!fill_wanted(run->config))
		return 0;
	say(run, "Filling the flash");
	if (phase_begin(&run->phases) ||
	    fill_run(&run->phases, &run->fill_payload))
		return -1;
	run->valid_data = true;
	run->result->filled = true;
	return phase_end(&run->phases, PHASE_FILL);
}

static int do_phase(struct run *run, enum phase phase, const char *title,
		    int (*work)(struct workload *workload), bool drop)
{
	if (drop && pagecache_drop(run->drop_control))
		return -1;
	say(run, title);
	if (phase_begin(&run->phases))
		return -1;
	run->workload.phase = phase;
	if (work(&run->workload) || phase_end(&run->phases, phase))
		return -1;
	/* Evaluated only now, so as not to disturb the chip before the
	 * phase. */
	if (phase == PHASE_CREATION)
		fill_judge(run->config, run->result, &run->phases.start);
	return 0;
}

static int do_phases(struct run *run)
{
	const struct config *config = run->config;
	struct result *result = run->result;

	if (do_fill(run) || phases_blocks_begin(&run->phases))
		return -1;
	if (do_phase(run, PHASE_CREATION, "Creating files", workload_create,
		     config->drop_creation) ||
	    do_phase(run, PHASE_TRANSACTIONS, "Performing transactions",
		     workload_transact, config->drop_transactions) ||
	    do_phase(run, PHASE_DELETION, "Deleting files", workload_delete,
		     false) ||
	    phases_blocks_end(&run->phases))
		return -1;
	if (result->transactions < config->transactions)
		warnings_add(&result->warnings,
			     "out-of-files: every file was deleted after %llu "
			     "of %llu transactions; raise 'number' or "
			     "'bias create'",
			     (unsigned long long)result->transactions,
			     (unsigned long long)config->transactions);
	for (int op = 0; op < OPS; op++)
		if (latency_sort(&result->latency[op]))
			return -1;
	return 0;
}

/* Called before the files are removed, so that the figures are true. */
static void explain_full_disk(struct run *run)
{
	const struct config *config = run->config;
	const struct population *files = &run->workload.files;
	double growth = config->bias_create > 5
				? (double)config->transactions *
					  ((double)config->bias_create - 5) / 5
				: 0;
	double most = (double)config->number + growth;
	struct statvfs disk;

	if (diag_errno() != ENOSPC)
		return;
	if (most > (double)files->slot_count)
		most = (double)files->slot_count;
	fail("the disk is full: the files of the run held %llu bytes when it "
	     "filled up; this configuration may need %.0f bytes for its files "
	     "and %llu for its fill, and the file system's own data come on "
	     "top; lower 'number', 'size' or 'fill creation'",
	     (unsigned long long)files->bytes, most * (double)config->size_high,
	     (unsigned long long)fill_estimate(config));
	if (!statvfs(config_location(config, 0), &disk))
		fail("'%s' has %llu bytes in all, %llu of them free now",
		     config_location(config, 0),
		     (unsigned long long)disk.f_blocks * disk.f_frsize,
		     (unsigned long long)disk.f_bavail * disk.f_frsize);
}

/* Leave nothing behind that was not asked for. */
static int tidy(struct run *run, bool failed)
{
	bool keep = run->config->fill_keep && !failed;
	int error = workload_tidy(&run->workload);

	if (run->valid_data && !keep)
		error |= fill_remove(run->config);
	return error | phases_sync(run->config);
}

int run_benchmark(const struct config *config, const char *drop_control,
		  FILE *progress, struct result *result)
{
	struct run run = {
		.config = config,
		.result = result,
		.drop_control = drop_control,
		.progress = progress,
	};
	/* No write is larger than a block, nor than a whole file. */
	uint64_t largest = config->write_block < config->size_high
				   ? config->write_block
				   : config->size_high;
	int error;

	payload_open(&run.payload, config->payload, config->seed,
		     config->compressibility, largest);
	payload_open(&run.fill_payload, PAYLOAD_RANDOM, config->seed,
		     config->fill_of == FILL_OF_FREE ? 0
						     : config->compressibility,
		     fill_largest(config));
	phases_open(&run.phases, config, result);
	reserve_latencies(config, result);
	interrupt_watch();
	error = workload_open(&run.workload, config, &run.payload, result);
	if (!error)
		error = do_phases(&run);
	if (error)
		explain_full_disk(&run);
	error |= tidy(&run, error != 0);
	interrupt_unwatch();
	workload_close(&run.workload);
	phases_close(&run.phases);
	payload_close(&run.payload);
	payload_close(&run.fill_payload);
	return error ? -1 : 0;
}
