// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * begin-member: the step between a job's setup and what a member of an ensemble
 * does on it.
 *
 *   begin-member ADDRESS PERIOD_MS
 *
 * Stops the board, so that the host may save its state; each member begins by
 * restoring it. Then unpacks at the root what the host has left at ADDRESS, a
 * cpio archive with the member's files and scripts, and waits for the member's
 * moment: as many ns after a multiple of PERIOD_MS of the board's clock as
 * "later/start" says, one to two periods after the state. So neither the
 * archive's size nor the time that unpacking takes decides when a member
 * begins.
 *
 * The host's side is src/nandlab/board/jobs/stagedjob.py. Needs ferry, cpio,
 * and on a board whose clock repeats the module doorbell. Costs the archive's
 * room in RAM, twice while it is unpacked.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/io.h>
#include <time.h>
#include <unistd.h>

#include "checked.h"
#include "clock.h"
#include "diag.h"
#include "options.h"
#include "takes.h"

#define NS_PER_MS      1000000ull
#define NS_PER_S       1000000000ull
#define EXACT_DOORBELL "/sys/module/doorbell/parameters/ring"
#define DOORBELL_PORT  0x505
#define DOORBELL_RING  1
#define PACKED	       "/tmp/later"
#define START	       "/later/start"
#define WORDS	       2

struct request {
	const char *word[WORDS];
	int words;
};

static int take_word(void *context, const char *value)
{
	struct request *request = context;

	if (request->words == WORDS)
		return fail("%s: one argument too many", value);
	request->word[request->words++] = value;
	return 0;
}

static const struct option_decl options[] = {
	{NULL, "ADDRESS", "where the host leaves the member's archive",
	 take_word},
	{NULL, "PERIOD_MS", "a member begins at multiples of this, ms",
	 take_word},
};

/* Stops the board. The module does it so that every state saved is the same. */
static int ring(void)
{
	int file, failed;

	if (access(EXACT_DOORBELL, W_OK)) {
		if (ioperm(DOORBELL_PORT, 1, 1))
			return fail_errno("reach", "the doorbell");
		outb(DOORBELL_RING, DOORBELL_PORT);
		return 0;
	}
	file = checked_open(EXACT_DOORBELL, O_WRONLY, 0);
	if (file < 0)
		return -1;
	failed = checked_write(file, "1", 1, EXACT_DOORBELL);
	return checked_close(file, EXACT_DOORBELL) || failed ? -1 : 0;
}

static int unpack(uint64_t address)
{
	char *command =
		text("cd / && ferry get %#llx > " PACKED
		     " && cpio -idu < " PACKED " 2>/dev/null && rm " PACKED,
		     (unsigned long long)address);
	int status = system(command);

	free(command);
	return status ? fail("the member's archive could not be unpacked") : 0;
}

/* The member's moment, in ns of the board's clock. */
static int moment(uint64_t state_ns, uint64_t period_ns, uint64_t *at)
{
	char *told = slurp(START), *end;

	if (!told)
		return fail_errno("read", START);
	*at = (state_ns / period_ns + 2) * period_ns + strtoull(told, &end, 10);
	free(told);
	return now_ns() < *at ? 0 : fail("the member's moment has passed");
}

static int run(const struct request *request)
{
	uint64_t state_ns = now_ns(), address, period_ms, at = 0;
	struct timespec t;

	if (request->words != WORDS)
		return fail("say ADDRESS PERIOD_MS");
	if (take_number(&address, request->word[0]) ||
	    take_number(&period_ms, request->word[1]))
		return -1;
	if (!period_ms || period_ms > 1000 * 3600)
		return fail("%s: expected 1 ms to 1 h", request->word[1]);
	if (ring() || unpack(address) ||
	    moment(state_ns, period_ms * NS_PER_MS, &at))
		return -1;
	t.tv_sec = (time_t)(at / NS_PER_S);
	t.tv_nsec = (long)(at % NS_PER_S);
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL))
		;
	return 0;
}

int main(int argc, char **argv)
{
	struct request request = {0};
	bool helped;

	(void)argc;
	diag_program = "begin-member";
	if (options_walk(options, sizeof(options) / sizeof(*options), argv + 1,
			 &request, "ADDRESS PERIOD_MS",
			 "Stops the board where members of an ensemble begin.",
			 &helped))
		return helped ? EXIT_OK : EXIT_USAGE;
	return run(&request) ? EXIT_RUN_FAILED : EXIT_OK;
}
