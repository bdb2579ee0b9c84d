// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fiojobs: does what a list of fio's jobs asks for, with exact latencies and
 * the chip's counts.
 *
 * Jobs run at once, each in a process of its own, up to one with a stonewall,
 * which waits until those before it have ended: each such group is a phase.
 * Before the first, all files are laid out and synced; that phase is no part
 * of the load. After each group the file system is synced, in a time of its
 * own. numjobs=N is N such processes, told as one job.
 *
 * A phase's time is from the start of its first job, its startdelay over, to
 * the end of its last, with the waits that rate and thinktime make. The
 * latency of each read, write, write to a file opened with sync, fsync and
 * fdatasync is kept, by job. jobs.h says what a list of jobs has; what is not
 * fio's:
 *
 *   fsync=N      syncs the file that was written last. fio syncs the file whose
 *                turn is next, and in a mix also after reads.
 *   randseed     decides the order of blocks by a generator of our own.
 *   data         is random, but for the share that compresses away.
 *
 * Costs 8 bytes of memory for each operation and each block of a random map.
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "checked.h"
#include "clock.h"
#include "diag.h"
#include "jobs.h"
#include "looks.h"
#include "options.h"
#include "report.h"

struct request {
	const char *jobs, *folder, *flash;
};

static int take_word(void *context, const char *value)
{
	struct request *request = context;

	if (request->folder)
		return fail("%s: one argument too many", value);
	*(request->jobs ? &request->folder : &request->jobs) = value;
	return 0;
}

static int take_flash(void *context, const char *value)
{
	((struct request *)context)->flash = value;
	return 0;
}

static const struct option_decl options[] = {
	{NULL, "JOBS", "the list of jobs, as jobs.h tells", take_word},
	{NULL, "FOLDER", "where their files are", take_word},
	{"flash", "DIR", "the chip's statistics (" FLASHSTAT_DIRECTORY ")",
	 take_flash},
};

static int lay_out(const struct clones *clones, struct phase *phase)
{
	struct payload payload;
	uint64_t largest = 1, began = now_ns();
	int error = 0;

	for (size_t i = 0; i < clones->count; i++) {
		uint64_t bs = clones->all[i].files.job->bs_max.of[WAY_WRITE];

		largest = bs > largest ? bs : largest;
	}
	payload_open(&payload, PAYLOAD_RANDOM, clones->all->files.job->randseed,
		     0, largest);
	for (size_t i = 0; i < clones->count && !error; i++)
		error = files_lay_out(&clones->all[i].files, &payload,
				      &phase->laid_out);
	payload_close(&payload);
	phase->ns = now_ns() - began;
	return error;
}

/* A clone's exitall: others that run end after the request that they are at. */
static void stop_others(const struct clones *clones, const struct clone *ended)
{
	const struct job *job = ended->files.job;

	for (size_t i = 0; i < clones->count; i++) {
		const struct job *other = clones->all[i].files.job;

		if (other->group == job->group &&
		    (job->exit_what == EXIT_STONEWALL ||
		     other->exit_group == job->exit_group))
			clones->all[i].found->stopped = true;
	}
}

static int work_alone(const struct clones *clones, struct clone *clone)
{
	int error = work(&clone->files, clone->number, clone->found);

	if (clone->files.job->exitall)
		stop_others(clones, clone);
	return error ? EXIT_RUN_FAILED : EXIT_OK;
}

/* Start a clone; the number of its process, or -1. */
static pid_t start(const struct clones *clones, struct clone *clone)
{
	pid_t pid = fork();

	if (pid < 0)
		return fail_errno("start a process for",
				  clone->files.job->name);
	if (!pid)
		_exit(work_alone(clones, clone));
	return pid;
}

static int wait_for_all(size_t count)
{
	int error = 0;

	while (count--) {
		int status = 0;

		if (wait(&status) < 0 || !WIFEXITED(status) ||
		    WEXITSTATUS(status))
			error = -1;
	}
	return error ? fail("a job failed") : 0;
}

static int run_group(const struct clones *clones, int group,
		     struct phase *phase)
{
	size_t started = 0;
	int error = 0;

	for (size_t i = 0; i < clones->count && !error; i++) {
		if (clones->all[i].files.job->group != group)
			continue;
		error = start(clones, &clones->all[i]) < 0;
		started += !error;
	}
	if (wait_for_all(started) || error)
		return -1;
	phase->ns = group_ns(clones, group);
	return 0;
}

/* A phase, and the sync that follows it, between looks at the chip. */
static int measure(const struct request *request, const struct clones *clones,
		   int group, struct phase *phase)
{
	uint64_t began;

	phase->used[0] = usage_now();
	if (look_at(&phase->looks[0], request->flash))
		return -1;
	if (group < 0 ? lay_out(clones, phase)
		      : run_group(clones, group, phase))
		return -1;
	if (look_at(&phase->looks[1], request->flash))
		return -1;
	began = now_ns();
	if (checked_syncfs(request->folder))
		return -1;
	phase->sync_ns = now_ns() - began;
	if (look_at(&phase->looks[2], request->flash))
		return -1;
	phase->used[1] = usage_now();
	return 0;
}

static int run(const struct request *request, const struct jobs *jobs)
{
	struct clones clones = clones_of(jobs, request->folder);
	int phases = jobs->groups + 1, error = 0;
	struct phase *phase =
		allocate((size_t)phases, sizeof(*phase), "the phases");

	for (int i = 0; i < phases && !error; i++)
		error = measure(request, &clones, i - 1, &phase[i]);
	if (!error)
		error = report(jobs, &clones, phase);
	for (int i = 0; i < phases; i++)
		for (int look = 0; look < LOOKS; look++)
			look_free(&phase[i].looks[look]);
	free(phase);
	clones_free(&clones);
	return error;
}

int main(int argc, char **argv)
{
	struct request request = {.flash = FLASHSTAT_DIRECTORY};
	struct jobs jobs = {0};
	bool helped;
	int error;

	(void)argc;
	diag_program = "fiojobs";
	if (options_walk(options, sizeof(options) / sizeof(*options), argv + 1,
			 &request, "JOBS FOLDER [--flash DIR]",
			 "Does the jobs of a list, as fio has them.", &helped))
		return helped ? EXIT_OK : EXIT_USAGE;
	if (!request.folder) {
		fail("say JOBS and FOLDER");
		return EXIT_USAGE;
	}
	if (jobs_read(&jobs, request.jobs)) {
		jobs_free(&jobs);
		return EXIT_USAGE;
	}
	error = run(&request, &jobs);
	jobs_free(&jobs);
	return error ? EXIT_RUN_FAILED : EXIT_OK;
}
