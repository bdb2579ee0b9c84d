// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "channel.h"
#include "moment.h"
#include "steps.h"

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

static void report_end(const struct step *s, const struct outcome *o)
{
	int rc = WIFEXITED(o->status) ? WEXITSTATUS(o->status) : -1;
	int sig = WIFSIGNALED(o->status) ? WTERMSIG(o->status) : 0;

	record("{\"event\":\"end\",\"step\":\"%s\",\"rc\":%d,\"signal\":%d,"
	       "\"timed_out\":%s,\"start_ns\":%lld,\"end_ns\":%lld",
	       s->name, rc, sig, o->timed_out ? "true" : "false",
	       (long long)o->start_ns, (long long)o->end_ns);
	record_file("stdout", "/tmp/stdout");
	record_file("stderr", "/tmp/stderr");
	record("}");
	record_end();
}

static void exec_step(const struct step *s)
{
	int out = open("/tmp/stdout", O_WRONLY | O_CREAT | O_TRUNC, 0644);
	int err = open("/tmp/stderr", O_WRONLY | O_CREAT | O_TRUNC, 0644);
	int in = open("/dev/null", O_RDONLY);
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	if (in < 0 || out < 0 || err < 0 || dup2(in, 0) < 0 ||
	    dup2(out, 1) < 0 || dup2(err, 2) < 0 || chdir(JOB_DIR))
		_exit(126);
	execl("/bin/sh", "sh", "-c", s->command, NULL);
	_exit(127);
}

/* Waits for this very child; orphans that init inherits are reaped by the way.
 */
static void wait_step(pid_t pid, long deadline_s, struct outcome *o)
{
	struct timespec left = {.tv_sec = deadline_s};
	sigset_t child;
	pid_t got;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	for (;;) {
		while ((got = waitpid(-1, &o->status, WNOHANG)) > 0)
			if (got == pid)
				return;
		if (sigtimedwait(&child, NULL, &left) < 0 && errno == EAGAIN) {
			o->timed_out = 1;
			kill(-pid, SIGKILL);
			left.tv_sec = deadline_s;
		}
	}
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
	return s->deadline_s > 0 ? 0 : -1;
}

/*
 * A step that fails skips to the steps whose names begin with "always-":
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
		errno = EINVAL;
		if (parse_step(line, &s))
			die("malformed step");
		if (failed && strncmp(s.name, "always-", 7))
			continue;
		if (run_step(&s))
			failed = 1;
	}
	record("{\"event\":\"done\",\"failed\":%s,\"t_ns\":%lld}",
	       failed ? "true" : "false", (long long)now_ns());
	record_end();
}
