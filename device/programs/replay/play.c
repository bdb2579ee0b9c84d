// SPDX-License-Identifier: GPL-2.0-or-later
/* A recorded load, made; see play.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "clock.h"
#include "diag.h"
#include "play.h"

#define NS_PER_US 1000u
#define NS_PER_S  1000000000u

static int scan_before(struct load *load, struct call *call)
{
	int got;

	while ((got = script_next(&load->script, befores, call)) == 1) {
		if (!call->verb->make) {
			load->calls_at = load->script.at;
			load->calls_line = load->script.line;
			return 0;
		}
		load->before++;
	}
	if (got < 0)
		return -1;
	return fail("'%s' has no line '" CALLS_BEGIN "': no recorded load",
		    load->script.path);
}

int load_open(struct load *load, const char *path)
{
	struct call call;
	int got;

	*load = (struct load){0};
	if (script_open(&load->script, path) || scan_before(load, &call))
		return -1;
	while ((got = script_next(&load->script, calls, &call)) == 1) {
		load->count[call.error ? KIND_FAILED : call.verb->kind]++;
		load->writes += call.verb->kind == KIND_WRITE;
		if (call.bytes > load->largest)
			load->largest = call.bytes;
	}
	return got;
}

void load_close(struct load *load)
{
	script_close(&load->script);
}

static const char *what(const struct call *call)
{
	return call->paths ? call->path[call->paths - 1] : "";
}

static int broken(const struct load *load, const struct call *call)
{
	return fail("%s, line %lu: %s %s: %s; the trace has it done",
		    load->script.path, call->line, call->verb->name, what(call),
		    strerror(errno));
}

int play_before(struct load *load, struct player *player)
{
	struct call call;
	int got;

	script_rewind(&load->script);
	while ((got = script_next(&load->script, befores, &call)) == 1) {
		if (!call.verb->make)
			return 0;
		if (call.verb->make(player, &call) < 0)
			return fail("%s, line %lu: %s cannot be made: %s",
				    load->script.path, call.line, what(&call),
				    strerror(errno));
	}
	return got;
}

void played_open(struct played *played, const struct load *load)
{
	*played = (struct played){0};
	for (int kind = 0; kind < KINDS; kind++)
		latency_open(&played->latency[kind],
			     kind == KIND_WRITE_SYNC ? load->writes
						     : load->count[kind]);
}

void played_close(struct played *played)
{
	for (int kind = 0; kind < KINDS; kind++)
		latency_close(&played->latency[kind]);
}

/* Sleep until a call's time has come; the time before is since @ended. */
static void think(const struct call *call, double factor, uint64_t ended,
		  struct played *played)
{
	uint64_t until =
		ended + (uint64_t)((double)call->think_us * NS_PER_US * factor);
	uint64_t now = now_ns();
	struct timespec at = {
		.tv_sec = (time_t)(until / NS_PER_S),
		.tv_nsec = (long)(until % NS_PER_S),
	};

	if (!call->think_us || until <= now)
		return;
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) ==
	       EINTR)
		;
	played->think_ns += now_ns() - now;
}

static void unlike(const struct call *call, const char *got,
		   struct played *played)
{
	char wanted[32];

	if (played->unlike++)
		return;
	if (call->error)
		snprintf(wanted, sizeof(wanted), "%s", error_name(call->error));
	else
		snprintf(wanted, sizeof(wanted), "%lld",
			 call->told ? call->returned : (long long)call->bytes);
	snprintf(played->first, sizeof(played->first),
		 "line %lu, %s %.200s: %s, where the trace has %s", call->line,
		 call->verb->name, what(call), got, wanted);
}

/* Whether a file system may lack the call: that is counted, and no error. */
static bool lacking(const struct call *call, int error)
{
	return error == EOPNOTSUPP || error == ENOSYS ||
	       (error == EINVAL && call->verb->kind == KIND_RESIZE);
}

static int judge_failure(const struct load *load, const struct call *call,
			 int error, struct played *played)
{
	if (call->error == error)
		return 0;
	errno = error;
	if (!call->error && !lacking(call, error))
		return broken(load, call);
	unlike(call, strerror(error), played);
	return 0;
}

static int judge(const struct load *load, const struct call *call,
		 long long got, int error, struct played *played)
{
	long long wanted = call->told ? call->returned : (long long)call->bytes;
	char number[32];

	if (got < 0)
		return judge_failure(load, call, error, played);
	snprintf(number, sizeof(number), "%lld", got);
	if (call->verb->kind == KIND_WRITE && !call->error && got < wanted) {
		errno = ENOSPC;
		return fail("%s, line %lu: %lld of %lld bytes were written",
			    load->script.path, call->line, got, wanted);
	}
	if (call->error || got != wanted)
		unlike(call, call->error ? "it was done" : number, played);
	return 0;
}

static int play(const struct load *load, const struct call *call,
		struct player *player, struct played *played, uint64_t *ended)
{
	enum kind kind = call_kind(player, call);
	uint64_t began = now_ns();
	long long got = call->verb->make(player, call);
	int error = errno;

	*ended = now_ns();
	latency_add(&played->latency[kind], *ended - began);
	played->ns += *ended - began;
	if (got > 0 && call->verb->kind == KIND_READ)
		played->bytes_read += (uint64_t)got;
	if (got > 0 && call->verb->kind == KIND_WRITE)
		played->bytes_written += (uint64_t)got;
	return judge(load, call, got, error, played);
}

int play_calls(struct load *load, struct player *player, double factor,
	       struct played *played)
{
	uint64_t ended;
	struct call call;
	int got;

	/* Linux lets a sleep last 50 us longer to save power; ask for 1 ns. */
	if (prctl(PR_SET_TIMERSLACK, 1ul))
		return fail_errno("set", "the timer slack");
	ended = now_ns();
	load->script.at = load->calls_at;
	load->script.line = load->calls_line;
	while ((got = script_next(&load->script, calls, &call)) == 1) {
		think(&call, factor, ended, played);
		if (play(load, &call, player, played, &ended))
			return -1;
	}
	for (int kind = 0; !got && kind < KINDS; kind++)
		got = latency_sort(&played->latency[kind]);
	return got;
}
