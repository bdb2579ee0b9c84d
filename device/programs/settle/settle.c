// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * settle: waits until the chip has been idle for a while.
 *
 * After a mount, file systems go on working in the background: JFFS2's
 * collector erases and marks every block that it found blank, UBI erases blocks
 * and levels wear. This program ends once the chip has done nothing for
 * --quiet-ms, or after --limit-s, and says which and how long it took. It reads
 * the chip's own idle time ten times per --quiet-ms, and causes no flash
 * operation.
 *
 * Needs the chip's statistics (--flash, or nandlab's chip).
 */
#include <stdlib.h>
#include <time.h>

#include "clock.h"
#include "diag.h"
#include "flashstat.h"
#include "json.h"
#include "options.h"
#include "takes.h"

#define NS_PER_MS     1000000ull
#define NS_PER_S      1000000000ull
#define CHECKS_A_TIME 10

struct request {
	const char *flash;
	uint64_t quiet_ns;
	uint64_t limit_ns;
};

TAKE_TEXT(flash)

static int on_quiet(void *context, const char *value)
{
	return take_time(&((struct request *)context)->quiet_ns, "quiet-ms",
			 value, NS_PER_MS);
}

static int on_limit(void *context, const char *value)
{
	return take_time(&((struct request *)context)->limit_ns, "limit-s",
			 value, NS_PER_S);
}

static const struct option_decl options[] = {
	{"quiet-ms", "MS", "idle time that ends the wait, ms (500)", on_quiet},
	{"limit-s", "S", "end the wait after this in any case, s (120)",
	 on_limit},
	{"flash", "DIR", "the chip's statistics (" FLASHSTAT_DIRECTORY ")",
	 on_flash},
};

static int idle_ns(const struct request *request, uint64_t *idle)
{
	struct flash_counters counters;

	if (flash_read_counters(request->flash, &counters))
		return fail_errno("read the chip's statistics in",
				  request->flash);
	if (counters.idle_ns == COUNT_MISSING)
		return fail("%s: no idle_ns in its counters", request->flash);
	*idle = counters.idle_ns;
	return 0;
}

static int wait_for_quiet(const struct request *request, bool *settled)
{
	uint64_t pause_ns = request->quiet_ns / CHECKS_A_TIME;
	struct timespec pause = {
		.tv_sec = pause_ns / NS_PER_S,
		.tv_nsec = pause_ns % NS_PER_S,
	};
	uint64_t deadline = now_ns() + request->limit_ns;
	uint64_t idle = 0;

	for (;;) {
		if (idle_ns(request, &idle))
			return -1;
		*settled = idle >= request->quiet_ns;
		if (*settled || now_ns() >= deadline)
			return 0;
		nanosleep(&pause, NULL);
	}
}

int main(int argc, char **argv)
{
	struct request request = {
		.flash = FLASHSTAT_DIRECTORY,
		.quiet_ns = 500 * NS_PER_MS,
		.limit_ns = 120 * NS_PER_S,
	};
	struct json json = {.out = stdout};
	uint64_t began = now_ns();
	bool settled, helped;

	(void)argc;
	diag_program = "settle";
	if (options_walk(options, sizeof(options) / sizeof(*options), argv + 1,
			 &request, "[OPTION...]",
			 "Waits until the NAND chip has been idle for a while.",
			 &helped))
		return helped ? EXIT_OK : EXIT_USAGE;
	if (wait_for_quiet(&request, &settled))
		return EXIT_RUN_FAILED;
	json_object(&json, NULL);
	json_text(&json, "program", "settle");
	json_bool(&json, "settled", settled);
	json_count(&json, "waited_ns", now_ns() - began);
	json_end(&json);
	return json_finish(&json) ? EXIT_RUN_FAILED : EXIT_OK;
}
