// SPDX-License-Identifier: GPL-2.0-or-later
/* The command line of a campaign. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>

#include "cuts/campaign.h"
#include "diag.h"
#include "options.h"

#define UNSTABLE_MOUNTS 4
#define MOUNTS_MAX	100

static int take_text(void *context, const char *value, size_t offset)
{
	*(const char **)((char *)context + offset) = value;
	return 0;
}

static int take_number(void *context, const char *value, size_t offset)
{
	char *end;

	*(unsigned long *)((char *)context + offset) = strtoul(value, &end, 10);
	return *end || end == value ? fail("%s: expected a whole number", value)
				    : 0;
}

#define TAKE(option, how, field)                                             \
	static int take_##option(void *context, const char *value)           \
	{                                                                    \
		return how(context, value, offsetof(struct request, field)); \
	}

TAKE(type, take_text, subject.type)
TAKE(source, take_text, subject.source)
TAKE(options, take_text, subject.options)
TAKE(module, take_text, subject.module)
TAKE(loads, take_text, loads)
TAKE(first_load, take_number, first_load)
TAKE(last_load, take_number, last_load)
TAKE(from, take_number, from)
TAKE(to, take_number, to)
TAKE(every, take_number, every)
TAKE(seed, take_number, seed)
TAKE(seeds, take_number, seeds)
TAKE(second, take_number, second)
TAKE(repeat, take_number, repeat)
TAKE(mounts, take_number, mounts)

static int take_own_check(void *context, const char *value)
{
	return knobs_take(((struct request *)context)->subject.checks,
			  (char *)value); /* of argv */
}

static int take_check_says(void *context, const char *value)
{
	return knobs_take_words(((struct request *)context)->subject.checks,
				value);
}

static int take_ubi(void *context, const char *value)
{
	((struct request *)context)->subject.ubi = atoi(value);
	return 0;
}

static int take_variant(void *context, const char *value)
{
	struct request *request = context;

	if (request->variant_count == VARIANTS_MAX)
		return fail("more than %d variants", VARIANTS_MAX);
	request->variants[request->variant_count++] = value;
	return 0;
}

static int take_reserve(void *context, const char *value)
{
	(void)context;
	cuts_statfs_reserve = strtoull(value, NULL, 10);
	return 0;
}

static int take_synchronous(void *context, const char *value)
{
	(void)value;
	((struct request *)context)->subject.flags |= MS_SYNCHRONOUS;
	return 0;
}

static int take_lie(void *context, const char *value)
{
	(void)value;
	((struct request *)context)->lie = true;
	return 0;
}

static int take_stale(void *context, const char *value)
{
	(void)value;
	((struct request *)context)->subject.stale = true;
	return 0;
}

static int take_lies(void *context, const char *value)
{
	(void)value;
	((struct request *)context)->subject.lies = true;
	return 0;
}

static int take_recovery(void *context, const char *value)
{
	(void)value;
	((struct request *)context)->recovery = true;
	return 0;
}

static int take_leave(void *context, const char *value)
{
	(void)value;
	((struct request *)context)->leave = true;
	return 0;
}

static int take_check(void *context, const char *value)
{
	(void)value;
	((struct request *)context)->check = true;
	return 0;
}

static int take_shift(void *context, const char *value)
{
	((struct request *)context)->shift = atol(value);
	return 0;
}

static const struct option_decl options[] = {
	{"type", "NAME", "the file system, as mount(2) knows it", take_type},
	{"source", "NAME", "what is mounted", take_source},
	{"options", "WORDS", "of the mount (none)", take_options},
	{"synchronous", NULL, "mounted so that each write is synced",
	 take_synchronous},
	{"ubi", "MTD", "attach this MTD device to UBI first (no UBI)",
	 take_ubi},
	{"module", "NAME",
	 "loaded first; the chip is put in anew before each mount (none)",
	 take_module},
	{"own-check", "FILE[=VALUE[,THEN]]",
	 "takes 1 or VALUE at the second mount, THEN after it; may be repeated "
	 "(none)",
	 take_own_check},
	{"check-says", "WORDS",
	 "in the kernel's log: a check failed; may be repeated (none)",
	 take_check_says},
	{"statfs-reserve", "BYTES",
	 "that the file system keeps and counts as used (unknown)",
	 take_reserve},
	{"first-load", "N", "of the file, from 0 (0)", take_first_load},
	{"last-load", "N", "of the file (the last)", take_last_load},
	{"from", "K", "first operation to cut after, from 0 (0)", take_from},
	{"to", "K", "last one (all)", take_to},
	{"every", "N", "cut after each n-th operation only (1)", take_every},
	{"variant", "NAME", "of tearing the next operation; may be repeated",
	 take_variant},
	{"seed", "N", "first seed of the variants (1)", take_seed},
	{"seeds", "N", "seeds tried for each but \"before\" (1)", take_seeds},
	{"repeat", "N", "judge each point so often (1)", take_repeat},
	{"mounts", "N", "of a point with unstable cells (4)", take_mounts},
	{"recovery", NULL, "cut each operation until the check's sync too",
	 take_recovery},
	{"second", "N",
	 "of what follows a cut recovery, cut one of N operations (0: none)",
	 take_second},
	{"leave", NULL, "leave the chip as the last check left it, uncompared",
	 take_leave},
	{"plant-lying-sync", NULL, "to try the checker: no sync is done",
	 take_lie},
	{"plant-shift", "N", "to try the checker: the chip is N operations off",
	 take_shift},
	{"plant-stale-end", NULL,
	 "to try the checker: an old byte is behind each file's old end",
	 take_stale},
	{"plant-lying-later-sync", NULL,
	 "to try the checker: the sync of what it writes is not done",
	 take_lies},
	{"check", NULL, "only read the loads, and count them", take_check},
	{NULL, NULL, "the file of loads", take_loads},
};

static int check_loads(const struct request *request)
{
	const struct oracle *oracle = request->subject.oracle;
	int n, error = 0;

	for (n = 0; !error; n++) {
		struct load load = {0};

		error = oracle->read(request->loads, n, &load);
		oracle->free(&load);
	}
	if (error > 0)
		printf("%d loads\n", n - 1);
	return error < 0 ? -1 : 0;
}

int cuts_main(char **argv, const char *about, const struct oracle *oracle,
	      campaign *run)
{
	struct knobs checks = {0};
	struct request request = {
		.subject = {.oracle = oracle,
			    .options = "",
			    .ubi = NONE,
			    .checks = &checks},
		.last_load = INT32_MAX,
		.to = UINT32_MAX,
		.every = 1,
		.seed = 1,
		.seeds = 1,
		.repeat = 1,
		.mounts = UNSTABLE_MOUNTS,
	};
	bool helped;

	diag_program = basename(argv[0]);
	if (options_walk(options, sizeof(options) / sizeof(*options), argv + 1,
			 &request, "OPTION... LOADS", about, &helped))
		return helped ? EXIT_OK : EXIT_USAGE;
	if (!request.loads || !request.subject.type || !request.every ||
	    !request.variant_count) {
		fail("needs --type, --variant and a file of loads");
		return EXIT_USAGE;
	}
	if (request.mounts < MOUNTS_MIN || request.mounts > MOUNTS_MAX) {
		fail("--mounts takes %d to %d", MOUNTS_MIN, MOUNTS_MAX);
		return EXIT_USAGE;
	}
	if (request.check)
		return check_loads(&request) ? EXIT_RUN_FAILED : EXIT_OK;
	return run(&request) ? EXIT_RUN_FAILED : EXIT_OK;
}
