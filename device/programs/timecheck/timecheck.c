// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * timecheck: checks the board's time. Prints one JSON line, for one of these:
 *
 * clocks  Reads every clock that a program can read, one after another, and a
 *         new file's mtime, between two readings of CLOCK_MONOTONIC.
 * timers  Waits --count times by clock_nanosleep() and by a timerfd, each for
 *         --period-us: how late they end, a measure of what runs beside it.
 * erase, program, read
 *         Does so with --count blocks or pages of --device, from its start on:
 *         how long all take by CLOCK_MONOTONIC. It begins right after a kernel
 *         tick, so that runs of less than a tick see none.
 * reread  As read; then, timed by itself, the last page as often again, which
 *         the chip has in its register: all that a read takes but the array.
 *
 * Writes no file but /tmp/timecheck, causes no flash operation but these.
 */
#include <fcntl.h>
#include <mtd/mtd-user.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "checked.h"
#include "clock.h"
#include "diag.h"
#include "json.h"
#include "options.h"
#include "takes.h"

#define NS_PER_S 1000000000ull
#define SCRATCH	 "/tmp/timecheck"

#define MOST	 1e12 /* of any number that is given */

struct request {
	const char *what;
	const char *device;
	uint64_t count;
	uint64_t period_us;
};

static uint64_t ns_of(const struct timespec *t)
{
	return t->tv_sec * NS_PER_S + t->tv_nsec;
}

static struct timespec timespec_of(uint64_t ns)
{
	struct timespec t = {.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};

	return t;
}

static uint64_t clock_ns(clockid_t id)
{
	struct timespec t;

	if (clock_gettime(id, &t))
		return COUNT_MISSING;
	return ns_of(&t);
}

/* By system call: the C library and the vDSO might read the counter
 * themselves. */
static uint64_t syscall_ns(clockid_t id)
{
	struct timespec t;

	if (syscall(SYS_clock_gettime, id, &t))
		return COUNT_MISSING;
	return ns_of(&t);
}

static int put_uptime(struct json *json)
{
	char *line = slurp("/proc/uptime");

	if (!line)
		return fail_errno("read", "/proc/uptime");
	json_count(json, "uptime_ns", (uint64_t)(strtod(line, NULL) * 1e9));
	free(line);
	return 0;
}

static int put_file_time(struct json *json)
{
	struct stat status;
	int fd = checked_open(SCRATCH, O_WRONLY | O_CREAT | O_EXCL, 0600);

	if (fd < 0)
		return -1;
	if (fstat(fd, &status))
		return fail_errno("stat", SCRATCH);
	json_count(json, "file_ns", ns_of(&status.st_mtim));
	if (checked_close(fd, SCRATCH))
		return -1;
	return checked_unlink(SCRATCH);
}

static int clocks(struct json *json, const struct request *request)
{
	static const struct {
		const char *name;
		clockid_t id;
	} all[] = {
		{"monotonic_ns", CLOCK_MONOTONIC},
		{"monotonic_raw_ns", CLOCK_MONOTONIC_RAW},
		{"monotonic_coarse_ns", CLOCK_MONOTONIC_COARSE},
		{"boottime_ns", CLOCK_BOOTTIME},
		{"realtime_ns", CLOCK_REALTIME},
		{"realtime_coarse_ns", CLOCK_REALTIME_COARSE},
		{"tai_ns", CLOCK_TAI},
	};
	size_t i;

	(void)request;
	json_count(json, "first_ns", now_ns());
	for (i = 0; i < sizeof(all) / sizeof(*all); i++)
		json_count(json, all[i].name, clock_ns(all[i].id));
	json_count(json, "monotonic_syscall_ns", syscall_ns(CLOCK_MONOTONIC));
	if (put_uptime(json) || put_file_time(json))
		return -1;
	json_count(json, "last_ns", now_ns());
	return 0;
}

struct lateness {
	uint64_t max_ns;
	uint64_t sum_ns;
};

static void was_due(struct lateness *late, uint64_t due_ns)
{
	uint64_t ns = now_ns() - due_ns;

	late->sum_ns += ns;
	if (late->max_ns < ns)
		late->max_ns = ns;
}

static int wait_timerfd(int fd, uint64_t due_ns)
{
	struct itimerspec when = {.it_value = timespec_of(due_ns)};
	uint64_t times;

	if (timerfd_settime(fd, TFD_TIMER_ABSTIME, &when, NULL))
		return fail_errno("set", "a timerfd");
	return checked_read(fd, &times, sizeof(times), "a timerfd");
}

/* Both kinds in turn; each is due a period after the one before was due. */
static int timers(struct json *json, const struct request *request)
{
	uint64_t period_ns = request->period_us * 1000ull;
	uint64_t due_ns = now_ns();
	struct lateness nanosleep_late = {0}, timerfd_late = {0};
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);
	unsigned long i;

	if (fd < 0)
		return fail_errno("create", "a timerfd");
	for (i = 0; i < request->count; i++) {
		struct timespec due = timespec_of(due_ns += period_ns);

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
		was_due(&nanosleep_late, due_ns);
		due_ns += period_ns;
		if (wait_timerfd(fd, due_ns))
			return -1;
		was_due(&timerfd_late, due_ns);
	}
	json_count(json, "nanosleep_max_ns", nanosleep_late.max_ns);
	json_count(json, "nanosleep_mean_ns",
		   nanosleep_late.sum_ns / request->count);
	json_count(json, "timerfd_max_ns", timerfd_late.max_ns);
	json_count(json, "timerfd_mean_ns",
		   timerfd_late.sum_ns / request->count);
	return checked_close(fd, "a timerfd");
}

static void await_tick(void)
{
	uint64_t before = clock_ns(CLOCK_MONOTONIC_COARSE);

	while (clock_ns(CLOCK_MONOTONIC_COARSE) == before)
		;
}

static int operate(int fd, const struct mtd_info_user *mtd, void *page,
		   const struct request *request)
{
	struct erase_info_user block = {.length = mtd->erasesize};
	unsigned long i;

	for (i = 0; i < request->count; i++) {
		int err;

		if (*request->what == 'e')
			err = ioctl(fd, MEMERASE, &block);
		else if (*request->what == 'p')
			err = checked_write(fd, page, mtd->writesize,
					    request->device);
		else
			err = checked_read(fd, page, mtd->writesize,
					   request->device);
		if (err)
			return fail_errno(request->what, request->device);
		block.start += mtd->erasesize;
	}
	return 0;
}

static int read_again(int fd, const struct mtd_info_user *mtd, void *page,
		      const struct request *request)
{
	unsigned long i;

	for (i = 0; i < request->count; i++) {
		if (lseek(fd, -(off_t)mtd->writesize, SEEK_CUR) < 0)
			return fail_errno("seek", request->device);
		if (checked_read(fd, page, mtd->writesize, request->device))
			return -1;
	}
	return 0;
}

static int flash(struct json *json, const struct request *request)
{
	bool again = !strcmp(request->what, "reread");
	struct mtd_info_user mtd;
	uint64_t began_ns, ended_ns, again_ns = 0;
	void *page;
	int err, fd = checked_open(request->device, O_RDWR, 0);

	if (fd < 0)
		return -1;
	if (ioctl(fd, MEMGETINFO, &mtd))
		return fail_errno("ask", request->device);
	page = allocate(1, mtd.writesize, "a page");
	await_tick();
	began_ns = now_ns();
	err = operate(fd, &mtd, page, request);
	ended_ns = now_ns();
	if (!err && again) {
		err = read_again(fd, &mtd, page, request);
		again_ns = now_ns() - ended_ns;
	}
	free(page);
	if (err || checked_close(fd, request->device))
		return -1;
	json_count(json, "ns", ended_ns - began_ns);
	json_count(json, "ended_ns", ended_ns);
	if (again)
		json_count(json, "again_ns", again_ns);
	return 0;
}

static const struct subject {
	const char *name;
	int (*check)(struct json *json, const struct request *request);
} subjects[] = {
	{"clocks", clocks}, {"timers", timers}, {"erase", flash},
	{"program", flash}, {"read", flash},	{"reread", flash},
};

static const struct subject *subject_of(const char *name)
{
	size_t i;

	for (i = 0; name && i < sizeof(subjects) / sizeof(*subjects); i++)
		if (!strcmp(subjects[i].name, name))
			return &subjects[i];
	return NULL;
}

TAKE_TEXT(what)
TAKE_TEXT(device)
TAKE_COUNT(count, "count", 1, MOST)
TAKE_COUNT(period_us, "period-us", 1, MOST)

static const struct option_decl options[] = {
	{NULL, "WHAT", "clocks, timers, erase, program, read or reread",
	 on_what},
	{"count", "N", "number of timers or operations (100)", on_count},
	{"period-us", "US", "timers: time from one to the next, us (1000)",
	 on_period_us},
	{"device", "PATH", "the MTD device (/dev/mtd0)", on_device},
};

int main(int argc, char **argv)
{
	struct request request = {
		.device = "/dev/mtd0", .count = 100, .period_us = 1000};
	struct json json = {.out = stdout};
	const struct subject *subject;
	bool helped;

	(void)argc;
	diag_program = "timecheck";
	if (options_walk(options, sizeof(options) / sizeof(*options), argv + 1,
			 &request, "[OPTION...] WHAT",
			 "Checks the board's time.", &helped))
		return helped ? EXIT_OK : EXIT_USAGE;
	subject = subject_of(request.what);
	if (!subject) {
		fail("expected clocks, timers, erase, program, read or reread");
		return EXIT_USAGE;
	}
	json_object(&json, NULL);
	json_text(&json, "program", "timecheck");
	if (subject->check(&json, &request))
		return EXIT_RUN_FAILED;
	json_end(&json);
	return json_finish(&json) ? EXIT_RUN_FAILED : EXIT_OK;
}
