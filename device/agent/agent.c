// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * agent: runs a job on a board that its owner has booted.
 *
 *   agent FOLDER
 *   agent await PERIOD_MS OFFSET_NS
 *
 * FOLDER/job has the job as init has it: "steps", "start", and the files that
 * the steps use. FOLDER/bin has its programs; the steps find them first. The
 * steps, their records and the moment of the first are init's own sources: only
 * the channel is another, standard output, and the first step begins at the
 * next whole second. "await" is for a step between a job's setup and what
 * follows: it ends that many ns after a multiple of PERIOD_MS of the board's
 * clock, one to two periods from now. The agent needs no privilege of its own,
 * and no header of a machine. It measures nothing that init does not.
 *
 * On the board it costs a process that wakes up every two seconds.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "channel.h"
#include "moment.h"
#include "reports.h"
#include "steps.h"
#include "watch.h"

#define NS_PER_MS 1000000LL

static void go_to(const char *folder)
{
	const char *before = getenv("PATH");
	char here[PATH_MAX], *path;

	if (chdir(folder) || !getcwd(here, sizeof(here)))
		die(folder);
	if (asprintf(&path, "%s/bin:%s", here,
		     before ? before : "/sbin:/bin:/usr/sbin:/usr/bin") < 0)
		die("out of memory");
	setenv("PATH", path, 1);
	free(path);
	if (chdir("job"))
		die("job");
}

static void run_job(void)
{
	size_t size;
	char *steps = read_file(JOB_DIR "/steps", &size);

	if (!steps)
		die("steps");
	report_ready();
	report_job();
	steps_begin();
	await_start(now_ns(), JOB_DIR "/start");
	run_steps(steps);
}

static void await(const char *period_ms, const char *offset_ns)
{
	int64_t period = number_within(period_ms, LONGEST_NS / NS_PER_MS,
				       "await: PERIOD_MS") *
			 NS_PER_MS;
	int64_t offset =
		number_within(offset_ns, LONGEST_NS, "await: OFFSET_NS");

	errno = EINVAL;
	if (period <= 0)
		die("await: PERIOD_MS");
	await_moment((now_ns() / period + 2) * period + offset);
}

static void block_sigchld(void)
{
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
}

int main(int argc, char **argv)
{
	pid_t runner;
	int status;

	channel_open();
	errno = EINVAL;
	if (argc == 4 && !strcmp(argv[1], "await")) {
		await(argv[2], argv[3]);
		return 0;
	}
	if (argc != 2)
		die("usage: agent FOLDER | agent await PERIOD_MS OFFSET_NS");
	signal(SIGPIPE, SIG_IGN);
	go_to(argv[1]);
	block_sigchld();
	watch_begin();
	runner = fork();
	if (runner < 0)
		die("fork");
	if (!runner) {
		run_job();
		return 0;
	}
	status = watch(runner);
	return status < 0 || !WIFEXITED(status) || WEXITSTATUS(status);
}
