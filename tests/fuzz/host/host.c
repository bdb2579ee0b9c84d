// SPDX-License-Identifier: GPL-2.0-or-later
/* See host.h. */
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>

#include "host.h"

#undef fopen
#undef open
#undef access
#undef chdir
#undef sigtimedwait
#undef setsid
#undef pause

#define NS_PER_S 1000000000LL
#define LOOK_NS	 1000		/* what a look at the clock takes */
#define WAIT_NS	 (NS_PER_S / 5) /* real time, at most, of any wait */
#define JOB_AT	 0x10000000	/* the address of root/dev/mem's first byte */
#define MAP_MOST (64 << 20)
#define UNPACKED "tmp/unpacked"
#define NOTHING	 "/dev/null"

static int64_t passed_ns = 50 * NS_PER_S;
static pid_t program; /* whose steps there are */

__attribute__((constructor)) static void begin(void)
{
	program = getpid();
}

static void below_root(char *to, size_t size, const char *path)
{
	snprintf(to, size, "root%s", path);
	if (*path != '/' || access(to, F_OK))
		snprintf(to, size, "%s", path);
}

/* A processor that idles, unless there is a file root/proc/busy. */
static FILE *uptime(void)
{
	static char text[64];
	double s = (double)passed_ns / NS_PER_S;

	snprintf(text, sizeof(text), "%.2f %.2f\n", s,
		 access("root/proc/busy", F_OK) ? s : 1.0);
	return fmemopen(text, strlen(text), "r");
}

FILE *host_fopen(const char *path, const char *mode)
{
	char there[PATH_MAX];

	if (!strcmp(path, "/proc/uptime"))
		return uptime();
	if (*path == '/' && *mode != 'r')
		return fopen(NOTHING, mode);
	below_root(there, sizeof(there), path);
	return fopen(there, mode);
}

static int takes_output(const char *path)
{
	return !strcmp(path, "tmp/stdout") || !strcmp(path, "tmp/stderr") ||
	       !strcmp(path, "../stdout") || !strcmp(path, "../stderr");
}

int host_open(const char *path, int flags, ...)
{
	char there[PATH_MAX];

	if (takes_output(path))
		return open(path, flags, 0644);
	if (flags & O_CREAT)
		return open(UNPACKED, flags, 0644);
	if (!strcmp(path, NOTHING) || flags & (O_WRONLY | O_RDWR))
		return open(NOTHING, flags);
	snprintf(there, sizeof(there), "root%s", path);
	return open(there, flags);
}

/* A copy of what a file has there, with zeros after it; bytes at any other
 * address are out of bounds, for a sanitizer. */
void *host_map(int file, size_t bytes, off_t at)
{
	char *copy = bytes && bytes <= MAP_MOST ? calloc(bytes, 1) : NULL;

	if (!copy || pread(file, copy, bytes, at - JOB_AT) < 0) {
		free(copy);
		return MAP_FAILED;
	}
	return copy;
}

int host_access(const char *path, int mode)
{
	char there[PATH_MAX];

	below_root(there, sizeof(there), path);
	return access(there, mode);
}

/* The program's folder is the board's root. */
int host_chdir(const char *folder)
{
	return strcmp(folder, "/") ? chdir(folder) : 0;
}

int host_clock_gettime(clockid_t clock, struct timespec *t)
{
	(void)clock;
	passed_ns += LOOK_NS;
	t->tv_sec = passed_ns / NS_PER_S;
	t->tv_nsec = passed_ns % NS_PER_S;
	return 0;
}

int host_clock_nanosleep(clockid_t clock, int flags,
			 const struct timespec *until, struct timespec *left)
{
	unsigned long long s = (unsigned long long)until->tv_sec;
	int64_t ns =
		(int64_t)(s * NS_PER_S + (unsigned long long)until->tv_nsec);

	(void)clock;
	(void)left;
	passed_ns = flags & TIMER_ABSTIME ? ns : passed_ns + ns;
	return 0;
}

/* Waits for a signal; a deadline passes in no time. */
int host_sigtimedwait(const sigset_t *set, siginfo_t *info,
		      const struct timespec *most)
{
	struct timespec wait = {.tv_nsec = WAIT_NS};
	int got = sigtimedwait(set, info, &wait);

	if (got < 0)
		host_clock_nanosleep(CLOCK_MONOTONIC, 0, most, NULL);
	return got;
}

/* At once, unless there is a file root/proc/slow: then after any deadline. */
pid_t host_setsid(void)
{
	if (!host_access("/proc/slow", F_OK))
		usleep(2 * WAIT_NS / 1000);
	return setsid();
}

/* A step has a session of its own: who ends the program's does not reach it. */
static void end_with_program(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != program)
		_exit(0);
}

static void print(int fd, long count)
{
	static char text[4096];
	long i;

	for (i = 0; i < (long)sizeof(text); i++)
		text[i] = (char)(i * 7);
	for (; count > 0; count -= (long)sizeof(text))
		if (write(fd, text, count < 4096 ? count : 4096) < 0)
			break;
}

/* An orphan that ends before or after the step. */
static void orphan(long us)
{
	if (fork())
		return;
	usleep(us);
	_exit(0);
}

/* As in a program that was executed: no sanitizer takes the signal. */
static void end_by(int number)
{
	signal(number, SIG_DFL);
	raise(number);
}

/* What the kernel counts of processes killed for lack of memory from now on. */
static void count_kills(long number)
{
	/* a step of init's is a folder below it, one of the agent's is not */
	FILE *vmstat = fopen(access("root", F_OK) ? "../root/proc/vmstat"
						  : "root/proc/vmstat",
			     "w");

	if (!vmstat)
		return;
	fprintf(vmstat, "nr_free_pages 9\noom_kill %ld\n", number);
	fclose(vmstat);
}

/* What a step does instead of its shell command: a word and a number each. */
int host_execl(const char *path, ...)
{
	const char *command;
	char word[16];
	va_list args;
	int taken;
	long n;

	end_with_program();
	va_start(args, path);
	for (taken = 0; taken < 2; taken++)
		va_arg(args, const char *);
	command = va_arg(args, const char *);
	va_end(args);
	for (; sscanf(command, "%15s %ld%n", word, &n, &taken) == 2;
	     command += taken) {
		n = n < 0 ? 0 : n & 0xffffff;
		if (!strcmp(word, "out"))
			print(STDOUT_FILENO, n);
		else if (!strcmp(word, "err"))
			print(STDERR_FILENO, n);
		else if (!strcmp(word, "orphan"))
			orphan(n & 0x3fff);
		else if (!strcmp(word, "sleep"))
			usleep(n & 0x3fff);
		else if (!strcmp(word, "oom"))
			count_kills(n);
		else if (!strcmp(word, "hang"))
			pause();
		else if (!strcmp(word, "raise"))
			end_by(n & 31);
		else
			_exit(n & 0xff);
	}
	_exit(0);
}

int host_well(const char *what)
{
	return what ? 0 : -1;
}

int host_end(void)
{
	exit(0);
}
