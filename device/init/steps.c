// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "channel.h"
#include "moment.h"
#include "steps.h"

#define OOM_KILLS   "\noom_kill "
#define SHELL	    "/bin/sh"
#define CHIP_COUNTS "/sys/kernel/debug/simnand/counters"
#ifndef OUTPUT_DIR
#define OUTPUT_DIR "/tmp"
#endif
#define STDOUT OUTPUT_DIR "/stdout"
#define STDERR OUTPUT_DIR "/stderr"

struct step {
	const char *name;
	long deadline_s;
	const char *command;
};

struct outcome {
	int64_t start_ns;
	int64_t end_ns;
	int status; /* as wait(2) gives it */
	int timed_out;
};

static void report_begin(const struct step *s)
{
	record("{\"event\":\"begin\",\"step\":\"%s\",\"t_ns\":%lld}", s->name,
	       (long long)now_ns());
	record_end();
}

/* Whether there is no room left for what steps print. */
static int ram_disk_is_full(void)
{
	struct statvfs st;

	return !statvfs(OUTPUT_DIR, &st) && !st.f_bavail;
}

/* Processes that the kernel has killed for lack of memory since boot; 0 where
 * it does not count them. */
static long long oom_kills(void)
{
	size_t size;
	char *text = read_file("/proc/vmstat", &size);
	char *at = text ? strstr(text, OOM_KILLS) : NULL;
	long long kills = at ? strtoll(at + strlen(OOM_KILLS), NULL, 10) : 0;

	free(text);
	return kills;
}

static long long kills_before;

void steps_begin(void)
{
	kills_before = oom_kills();
}

/* Whether the kernel has killed a process for lack of memory since the job
 * began. */
static int memory_ran_out(void)
{
	return oom_kills() != kills_before;
}

static void report_end(const struct step *s, const struct outcome *o)
{
	int rc = WIFEXITED(o->status) ? WEXITSTATUS(o->status) : -1;
	int sig = WIFSIGNALED(o->status) ? WTERMSIG(o->status) : 0;

	record("{\"event\":\"end\",\"step\":\"%s\",\"rc\":%d,\"signal\":%d,"
	       "\"timed_out\":%s,\"start_ns\":%lld,\"end_ns\":%lld",
	       s->name, rc, sig, o->timed_out ? "true" : "false",
	       (long long)o->start_ns, (long long)o->end_ns);
	record_file("stdout", STDOUT);
	record_file("stderr", STDERR);
	if (!access(CHIP_COUNTS, R_OK))
		record_file("counts", CHIP_COUNTS);
	if (o->status && ram_disk_is_full())
		record(",\"disk_full\":true");
	if (o->status && memory_ran_out())
		record(",\"out_of_memory\":true");
	record("}");
	record_end();
}

/* Opens a file as descriptor @as, or dies: a step's output would be lost. */
static void open_as(int as, const char *path, int flags)
{
	int fd = open(path, flags, 0644);

	if (fd < 0 || dup2(fd, as) < 0)
		die(path);
}

static void exec_step(const struct step *s)
{
	const char *what = JOB_DIR;
	sigset_t none;

	open_as(STDIN_FILENO, "/dev/null", O_RDONLY);
	open_as(STDOUT_FILENO, STDOUT, O_WRONLY | O_CREAT | O_TRUNC);
	open_as(STDERR_FILENO, STDERR, O_WRONLY | O_CREAT | O_TRUNC);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	if (!chdir(JOB_DIR)) {
		what = SHELL;
		execl(SHELL, "sh", "-c", s->command, NULL);
	}
	dprintf(STDERR_FILENO, "init: %s: %s\n", what, strerror(errno));
	_exit(127);
}

/* Whether the child @pid has ended; reaps orphans that ended before it. */
static int reap(pid_t pid, int *status)
{
	pid_t got;

	while ((got = waitpid(-1, status, WNOHANG)) > 0)
		if (got == pid)
			return 1;
	return 0;
}

/*
 * Waits for the child @pid, and tells whether it ended in time. Each orphan
 * that ends wakes init too; only then is the time left computed anew, so a step
 * without orphans costs no look at the clock.
 */
static int ends_in_time(pid_t pid, const sigset_t *child, int64_t start_ns,
			long deadline_s, int *status)
{
	int64_t left_ns = deadline_s * NS_PER_S;
	int64_t until_ns = start_ns + left_ns;
	int woken;

	for (woken = 0; !reap(pid, status); woken = 1) {
		struct timespec left;

		if (woken)
			left_ns = until_ns - now_ns();
		if (left_ns <= 0)
			return 0;
		left.tv_sec = left_ns / NS_PER_S;
		left.tv_nsec = left_ns % NS_PER_S;
		sigtimedwait(child, NULL, &left);
	}
	return 1;
}

static void wait_step(pid_t pid, long deadline_s, struct outcome *o)
{
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	if (ends_in_time(pid, &child, o->start_ns, deadline_s, &o->status))
		return;
	o->timed_out = 1;
	if (kill(-pid, SIGKILL))
		kill(pid, SIGKILL); /* its session has not begun yet */
	while (!reap(pid, &o->status))
		sigwaitinfo(&child, NULL);
}

static int run_step(const struct step *s)
{
	struct outcome o = {0};
	pid_t pid;

	report_begin(s);
	o.start_ns = now_ns();
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid)
		exec_step(s);
	wait_step(pid, s->deadline_s, &o);
	o.end_ns = now_ns();
	report_end(s, &o);
	return o.timed_out ? -1 : o.status;
}

static int parse_step(char *line, struct step *s)
{
	char *deadline = strchr(line, '\t');
	char *command = deadline ? strchr(deadline + 1, '\t') : NULL;

	if (!command)
		return -1;
	*deadline++ = '\0';
	*command++ = '\0';
	s->name = line;
	s->deadline_s = strtol(deadline, NULL, 10);
	s->command = command;
	return s->deadline_s > 0 && s->deadline_s <= LONGEST_NS / NS_PER_S ? 0
									   : -1;
}

static void die_of_step(const char *line)
{
	char what[128];

	snprintf(what, sizeof(what), "malformed step: %.100s", line);
	errno = EINVAL;
	die(what);
}

/*
 * After a step that fails, only steps whose names begin with "always-" run:
 * they collect what is known about the failure.
 */
void run_steps(char *text)
{
	char *line, *rest = text;
	int failed = 0;

	while ((line = strsep(&rest, "\n"))) {
		struct step s;

		if (!*line)
			continue;
		if (parse_step(line, &s))
			die_of_step(line);
		if (failed && strncmp(s.name, "always-", 7))
			continue;
		if (run_step(&s))
			failed = 1;
	}
	record("{\"event\":\"done\",\"failed\":%s,\"t_ns\":%lld}",
	       failed ? "true" : "false", (long long)now_ns());
	record_end();
}
