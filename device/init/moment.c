// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "channel.h"
#include "moment.h"

/* The kernel is at rest if the processor idles for REST_IDLE_MS of a stretch of
 * time. The remainder covers the look itself, the kernel's ticks, and the idle
 * time's resolution of 10 ms. */
#define REST_STRETCH_MS 300
#define REST_IDLE_MS	280
#define REST_LIMIT_S	120

/* Whole seconds between the saved state and the first step: many times what it
 * takes to unpack a job, so that the job's size does not decide when it begins.
 * A large job on a slow board takes longer than one, and begins as late as the
 * other says. */
#define START_S 1
#ifndef LATE_START_S
#define LATE_START_S 4
#endif

int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

/* Time that the processor has idled since boot, ms, in steps of 10 ms. */
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
 * The kernel may still be busy with its own start when init runs: Linux 6.12
 * tests its ciphers in a thread that takes the processor for some seconds more.
 * In a saved state, that thread would run beside each trial.
 */
void await_rest(void)
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

int64_t number_within(const char *text, int64_t most, const char *what)
{
	int64_t number = strtoll(text, NULL, 10);

	errno = ERANGE;
	if (number < -most || number > most)
		die(what);
	return number;
}

void await_moment(int64_t at_ns)
{
	const struct timespec t = {.tv_sec = at_ns / NS_PER_S,
				   .tv_nsec = at_ns % NS_PER_S};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL))
		;
}

void await_start(int64_t saved_ns, const char *offset_file)
{
	size_t size;
	char *text = read_file(offset_file, &size);
	int64_t at = (saved_ns / NS_PER_S + 1 + START_S) * NS_PER_S;
	int64_t now = now_ns();

	if (now >= at)
		at += (LATE_START_S - START_S) * NS_PER_S;
	errno = ETIMEDOUT;
	if (now >= at)
		die("the job is not unpacked when it is to begin");
	if (text)
		at += number_within(text, LONGEST_NS, offset_file);
	free(text);
	await_moment(at);
}
