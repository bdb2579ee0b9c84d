// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * init: the first and only service of a nandlab board.
 *
 * It mounts what Linux needs, says that it is ready, waits to be given a job,
 * runs the job's steps one by one and reports each as a line of JSON on the
 * status channel. It measures a step's start and end on CLOCK_MONOTONIC, the
 * clock that the chip's latencies are part of, and nothing else: what a step
 * measures, it prints itself.
 *
 * Two things meet the host, and neither lets host time into the guest:
 *
 * - The doorbell, a pvpanic port: one write stops the virtual machine within
 *   that instruction. It rings when the board is ready and at rest (the host
 *   then saves its state, once, and hands over a job each time it restores it)
 *   and when the job is done.
 * - The job, a cpio archive in the fw_cfg file "opt/nandlab/job", read only
 *   after the doorbell: "steps" and whatever files the steps use. A line of
 *   "steps" is NAME <tab> DEADLINE_S <tab> SHELL COMMAND. "start" holds the
 *   offset in ns, after the next whole second, at which the first step runs.
 *   A job with no "steps" is an interactive shell on the console.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/io.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define CONSOLE	       "/dev/console"
#define CHANNEL	       "/dev/ttyS1"
#define JOB_DIR	       "/job"
#define JOB_SOURCE     "/sys/firmware/qemu_fw_cfg/by_name/opt/nandlab/job/raw"
#define DOORBELL_PORT  0x505
#define DOORBELL_RING  1
#define EXACT_DOORBELL "/sys/module/doorbell/parameters/ring"
#define RECORD_FORMAT  1
#define OUTPUT_MAX     (8 << 20)
#define NS_PER_S       1000000000LL

/* At rest: so much of a stretch of time idle. What is left covers the look
 * itself, the kernel's ticks, and idle time being told in hundredths of s. */
#define REST_STRETCH_MS 300
#define REST_IDLE_MS	280
#define REST_LIMIT_S	120

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

static FILE *channel;

static void die(const char *what)
{
	int err = errno;

	fprintf(stderr, "init: %s: %s\n", what, strerror(err));
	if (channel) {
		fprintf(channel, "{\"event\":\"failed\",\"what\":\"%s: %s\"}\n",
			what, strerror(err));
		fflush(channel);
		tcdrain(fileno(channel));
	}
	sync();
	reboot(RB_AUTOBOOT); /* the host sees the board go */
	_exit(1);
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

static void mount_or_die(const char *type, const char *dir)
{
	if (mkdir(dir, 0755) && errno != EEXIST)
		die(dir);
	if (mount(type, dir, type, 0, NULL) && errno != EBUSY)
		die(dir);
}

static void open_channel(void)
{
	struct termios tio;

	channel = fopen(CHANNEL, "w");
	if (!channel || tcgetattr(fileno(channel), &tio))
		die(CHANNEL);
	cfmakeraw(&tio);
	cfsetspeed(&tio, B115200);
	if (tcsetattr(fileno(channel), TCSANOW, &tio))
		die(CHANNEL);
}

/* Ends a record: the line is on its way to the host when this returns. */
static void end_record(void)
{
	fputs("\n", channel);
	if (fflush(channel) || tcdrain(fileno(channel)))
		die(CHANNEL);
}

static void ring_doorbell(void)
{
	outb(DOORBELL_RING, DOORBELL_PORT);
}

/* Runs a command to its end; for the few that init itself needs. */
static void run_or_die(const char *command)
{
	int status = system(command);

	if (status) {
		errno = status == -1 ? errno : ECHILD;
		die(command);
	}
}

/*
 * Rings to be saved. On a board whose clock is to repeat, the module does it
 * so that every state saved here is the same.
 */
static void be_saved(bool exact)
{
	if (exact)
		run_or_die("echo 1 > " EXACT_DOORBELL);
	else
		ring_doorbell();
}

static char *read_file(const char *path, size_t *size)
{
	char *text;
	size_t n;
	FILE *f = fopen(path, "r");

	*size = 0;
	if (!f)
		return NULL;
	text = malloc(OUTPUT_MAX + 1);
	if (!text)
		die("out of memory");
	n = fread(text, 1, OUTPUT_MAX, f);
	if (ferror(f))
		die(path);
	fclose(f);
	text[n] = '\0';
	*size = n;
	return text;
}

/* Bytes that are not ASCII go out as \u00XX, so that any output is valid. */
static void put_json_string(const char *text, size_t size)
{
	size_t i;

	fputc('"', channel);
	for (i = 0; i < size; i++) {
		unsigned char c = text[i];

		if (c == '"' || c == '\\')
			fprintf(channel, "\\%c", c);
		else if (c == '\n')
			fputs("\\n", channel);
		else if (c < 0x20 || c > 0x7e)
			fprintf(channel, "\\u%04x", c);
		else
			fputc(c, channel);
	}
	fputc('"', channel);
}

static void put_json_file(const char *key, const char *path)
{
	size_t size;
	char *text = read_file(path, &size);

	fprintf(channel, ",\"%s\":", key);
	put_json_string(text ? text : "", size);
	free(text);
}

/* Whether the kernel's command line has the word. */
static int asked_for(const char *word)
{
	size_t size;
	char *text = read_file("/proc/cmdline", &size);
	int found = text && strstr(text, word);

	free(text);
	return found;
}

/* Time that the processor has idled since boot, ms; to a hundredth of s. */
static int64_t idle_ms(void)
{
	size_t size;
	char *text = read_file("/proc/uptime", &size);
	char *idle = text ? strchr(text, ' ') : NULL;
	int64_t ms;

	if (!idle)
		die("/proc/uptime");
	ms = (int64_t)(strtod(idle, NULL) * 1e3 + 0.5);
	free(text);
	return ms;
}

/*
 * The kernel may still be busy with its own start when init is already there:
 * Linux 6.12 tests its ciphers in a thread that takes the processor for some
 * seconds more. In a saved state, that thread would run beside each trial.
 */
static void await_rest(void)
{
	const struct timespec stretch = {.tv_nsec = REST_STRETCH_MS * 1000000};
	int64_t limit_ns = now_ns() + REST_LIMIT_S * NS_PER_S;
	int64_t before_ms, after_ms = idle_ms();

	do {
		errno = ETIMEDOUT;
		if (now_ns() > limit_ns)
			die("the kernel does not come to rest");
		before_ms = after_ms;
		clock_nanosleep(CLOCK_MONOTONIC, 0, &stretch, NULL);
		after_ms = idle_ms();
	} while (after_ms - before_ms < REST_IDLE_MS);
}

static void report_ready(void)
{
	struct utsname u;

	if (uname(&u))
		die("uname");
	fprintf(channel,
		"{\"event\":\"ready\",\"format\":%d,\"kernel\":\"%s "
		"%s\",\"t_ns\":%lld}",
		RECORD_FORMAT, u.release, u.version, (long long)now_ns());
	end_record();
}

static void report_begin(const struct step *s)
{
	fprintf(channel, "{\"event\":\"begin\",\"step\":\"%s\",\"t_ns\":%lld}",
		s->name, (long long)now_ns());
	end_record();
}

static void report_end(const struct step *s, const struct outcome *o)
{
	int rc = WIFEXITED(o->status) ? WEXITSTATUS(o->status) : -1;
	int sig = WIFSIGNALED(o->status) ? WTERMSIG(o->status) : 0;

	fprintf(channel,
		"{\"event\":\"end\",\"step\":\"%s\",\"rc\":%d,\"signal\":%d,"
		"\"timed_out\":%s,\"start_ns\":%lld,\"end_ns\":%lld",
		s->name, rc, sig, o->timed_out ? "true" : "false",
		(long long)o->start_ns, (long long)o->end_ns);
	put_json_file("stdout", "/tmp/stdout");
	put_json_file("stderr", "/tmp/stderr");
	fputc('}', channel);
	end_record();
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
static void run_steps(char *text)
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
	fprintf(channel, "{\"event\":\"done\",\"failed\":%s,\"t_ns\":%lld}",
		failed ? "true" : "false", (long long)now_ns());
	end_record();
}

/* The next whole second plus the job's own offset. */
static void wait_start(void)
{
	size_t size;
	char *text = read_file(JOB_DIR "/start", &size);
	int64_t at = (now_ns() / NS_PER_S + 1) * NS_PER_S;
	struct timespec t;

	if (text)
		at += strtoll(text, NULL, 10);
	free(text);
	t.tv_sec = at / NS_PER_S;
	t.tv_nsec = at % NS_PER_S;
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL))
		;
}

static void interactive_shell(void)
{
	setsid();
	for (;;) {
		pid_t pid = fork();

		if (!pid) {
			execl("/bin/sh", "sh", "-c",
			      "exec sh -l <>" CONSOLE " >&0 2>&1", NULL);
			_exit(127);
		}
		if (pid < 0 || waitpid(pid, NULL, 0) < 0)
			die("shell");
		reboot(RB_POWER_OFF);
	}
}

static void prepare(void)
{
	sigset_t child;

	mount_or_die("proc", "/proc");
	mount_or_die("sysfs", "/sys");
	mount_or_die("devtmpfs", "/dev");
	mount_or_die("tmpfs", "/tmp");
	mount_or_die("debugfs", "/sys/kernel/debug");
	if (mkdir("/mnt", 0755) && errno != EEXIST)
		die("/mnt");
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	setenv("PATH", "/sbin:/bin:/usr/sbin:/usr/bin", 1);
	setenv("HOME", "/", 1);
	if (ioperm(DOORBELL_PORT, 1, 1))
		die("ioperm");
}

int main(void)
{
	size_t size;
	char *steps;
	bool exact;

	prepare();
	open_channel();
	exact = asked_for("nandlab.exact");
	if (exact)
		run_or_die("modprobe nopidle && modprobe doorbell");
	run_or_die("modprobe qemu_fw_cfg");
	await_rest();
	report_ready();
	be_saved(exact);

	run_or_die("mkdir -p " JOB_DIR " && cd " JOB_DIR
		   " && cpio -idu < " JOB_SOURCE " 2>/dev/null");
	steps = read_file(JOB_DIR "/steps", &size);
	if (!steps)
		interactive_shell();
	wait_start();
	run_steps(steps);
	ring_doorbell();
	pause();
	return 0;
}
