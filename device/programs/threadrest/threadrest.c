// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * threadrest: waits until kernel threads have been idle for a while.
 *
 * On a board whose chip counts nothing, a file system's own threads tell
 * whether it works in the background: while JFFS2's collector marks blocks, or
 * UBI's thread erases them, the thread is switched to and from. This program
 * ends once no thread with one of the --thread names was switched for
 * --quiet-ms, or after
 * --limit-s, and says which and how long it took. It looks ten times per
 * --quiet-ms, and causes no flash operation.
 *
 * What it cannot see: work that is not done by these threads. A name that no
 * thread has counts as at rest; "threads" in its answer tells how many it
 * found.
 *
 * Needs /proc.
 */
#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "checked.h"
#include "clock.h"
#include "diag.h"
#include "json.h"
#include "options.h"
#include "takes.h"

#define NS_PER_MS     1000000ull
#define NS_PER_S      1000000000ull
#define CHECKS_A_TIME 10
#define NAMES_MAX     8

struct request {
	const char *names[NAMES_MAX];
	size_t count;
	uint64_t quiet_ns;
	uint64_t limit_ns;
};

struct seen {
	uint64_t threads;
	uint64_t switches; /* of all of them, since each began */
};

static int take_thread(void *context, const char *value)
{
	struct request *request = context;

	if (request->count == NAMES_MAX)
		return fail("--thread: at most %d names", NAMES_MAX);
	request->names[request->count++] = value;
	return 0;
}

static int take_quiet(void *context, const char *value)
{
	return take_time(&((struct request *)context)->quiet_ns, "quiet-ms",
			 value, NS_PER_MS);
}

static int take_limit(void *context, const char *value)
{
	return take_time(&((struct request *)context)->limit_ns, "limit-s",
			 value, NS_PER_S);
}

static const struct option_decl options[] = {
	{"thread", "NAME",
	 "a kernel thread to wait for, by its name; may repeat", take_thread},
	{"quiet-ms", "MS", "idle time that ends the wait, ms (500)",
	 take_quiet},
	{"limit-s", "S", "end the wait after this in any case, s (120)",
	 take_limit},
};

static bool is_wanted(const struct request *request, const char *pid)
{
	char *path = text("/proc/%s/comm", pid);
	char *comm = slurp(path);
	bool found = false;

	free(path);
	if (!comm)
		return false; /* it has ended */
	comm[strcspn(comm, "\n")] = '\0';
	for (size_t i = 0; i < request->count; i++)
		found = found || !strcmp(comm, request->names[i]);
	free(comm);
	return found;
}

/* Both kinds of switches are lines "..._ctxt_switches: NUMBER". */
static void add_switches(struct seen *seen, const char *pid)
{
	static const char key[] = "_ctxt_switches:";
	char *path = text("/proc/%s/status", pid);
	char *status = slurp(path);
	char *at = status;

	free(path);
	if (!status)
		return;
	seen->threads++;
	while ((at = strstr(at, key))) {
		at += sizeof(key) - 1;
		seen->switches += strtoull(at, NULL, 10);
	}
	free(status);
}

static int look(const struct request *request, struct seen *seen)
{
	struct dirent *entry;
	DIR *proc = opendir("/proc");

	if (!proc)
		return fail_errno("open", "/proc");
	memset(seen, 0, sizeof(*seen));
	while ((entry = readdir(proc)))
		if (isdigit((unsigned char)entry->d_name[0]) &&
		    is_wanted(request, entry->d_name))
			add_switches(seen, entry->d_name);
	closedir(proc);
	return 0;
}

static int wait_for_rest(const struct request *request, struct seen *seen,
			 bool *settled)
{
	uint64_t pause_ns = request->quiet_ns / CHECKS_A_TIME;
	struct timespec pause = {
		.tv_sec = pause_ns / NS_PER_S,
		.tv_nsec = pause_ns % NS_PER_S,
	};
	uint64_t began = now_ns(), changed = began;
	struct seen before;

	if (look(request, &before))
		return -1;
	for (;;) {
		nanosleep(&pause, NULL);
		if (look(request, seen))
			return -1;
		if (seen->switches != before.switches ||
		    seen->threads != before.threads)
			changed = now_ns();
		before = *seen;
		*settled = now_ns() - changed >= request->quiet_ns;
		if (*settled || now_ns() - began >= request->limit_ns)
			return 0;
	}
}

int main(int argc, char **argv)
{
	struct request request = {
		.quiet_ns = 500 * NS_PER_MS,
		.limit_ns = 120 * NS_PER_S,
	};
	struct json json = {.out = stdout};
	uint64_t began = now_ns();
	struct seen seen;
	bool settled, helped;

	(void)argc;
	diag_program = "threadrest";
	if (options_walk(options, sizeof(options) / sizeof(*options), argv + 1,
			 &request, "[OPTION...]",
			 "Waits until kernel threads have been idle for a "
			 "while.",
			 &helped))
		return helped ? EXIT_OK : EXIT_USAGE;
	if (wait_for_rest(&request, &seen, &settled))
		return EXIT_RUN_FAILED;
	json_object(&json, NULL);
	json_text(&json, "program", "threadrest");
	json_bool(&json, "settled", settled);
	json_count(&json, "waited_ns", now_ns() - began);
	json_count(&json, "threads", seen.threads);
	json_end(&json);
	return json_finish(&json) ? EXIT_RUN_FAILED : EXIT_OK;
}
