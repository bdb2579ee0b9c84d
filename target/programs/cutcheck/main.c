// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cutcheck: cuts the power at each flash operation of loads, and checks what is
 * there then.
 *
 * Each load of a file is recorded once by the chip's journal (module powercut):
 * mount, operations, unmount. Then for each operation and each variant of
 * tearing it, the chip is brought to that state; the file system is mounted and
 * judged by what sync and fsync promised (judge.c); a file is written and
 * synced; the file system is mounted again and must show the same and that
 * file. One JSON line a load. The board is not booted in between: a point takes
 * two mounts.
 *
 * Needs root, and a file system that has been made and mounted once. Before
 * each point its name goes to the console, so that it is known if the kernel
 * dies.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <time.h>
#include <unistd.h>

#include "checked.h"
#include "cutcheck.h"
#include "diag.h"
#include "json.h"
#include "options.h"

#define AFTER	      MOUNTPOINT "/written-after"
#define AFTER_BYTES   5000
#define VARIANTS_MAX  6
#define LOAD_BEGINS_S 1893456000 /* 2030: files of a load have the same times \
				  */
#define CONSOLE_LEVEL 8
#define ALERTS	      2

struct request {
	struct subject subject;
	const char *loads;
	const char *variants[VARIANTS_MAX];
	int variant_count;
	unsigned long first_load, last_load, from, to, every, seed, seeds;
	bool lie;   /* a sync does nothing, and says that it returned */
	long shift; /* the chip is so many operations off */
	bool recovery;
};

/* Outcomes of a load's points. */
struct tally {
	uint32_t operations;
	char *kinds;
	char *outcome[VARIANTS_MAX]; /* a letter an operation */
	uint64_t points, recovery_points;
	uint64_t count[VERDICTS];
	struct finding first[VERDICTS];
	char where[VERDICTS][96];
};

static int console = -1;

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
TAKE(before, take_text, subject.before)
TAKE(after, take_text, subject.after)
TAKE(loads, take_text, loads)
TAKE(first_load, take_number, first_load)
TAKE(last_load, take_number, last_load)
TAKE(from, take_number, from)
TAKE(to, take_number, to)
TAKE(every, take_number, every)
TAKE(seed, take_number, seed)
TAKE(seeds, take_number, seeds)

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

static int take_lie(void *context, const char *value)
{
	(void)value;
	((struct request *)context)->lie = true;
	return 0;
}

static int take_recovery(void *context, const char *value)
{
	(void)value;
	((struct request *)context)->recovery = true;
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
	{"ubi", "MTD", "attach this MTD device to UBI first (no UBI)",
	 take_ubi},
	{"before", "COMMAND", "before each mount (none)", take_before},
	{"after", "COMMAND", "after each unmount (none)", take_after},
	{"first-load", "N", "of the file, from 0 (0)", take_first_load},
	{"last-load", "N", "of the file (the last)", take_last_load},
	{"from", "K", "first operation to cut after, from 0 (0)", take_from},
	{"to", "K", "last one (all)", take_to},
	{"every", "N", "cut after each n-th operation only (1)", take_every},
	{"variant", "NAME", "of tearing the next operation; may be repeated",
	 take_variant},
	{"seed", "N", "first seed of the variants (1)", take_seed},
	{"seeds", "N", "seeds tried for each but \"before\" (1)", take_seeds},
	{"recovery", NULL, "cut each operation of the first mount too",
	 take_recovery},
	{"plant-lying-sync", NULL, "to try the checker: no sync is done",
	 take_lie},
	{"plant-shift", "N", "to try the checker: the chip is N operations off",
	 take_shift},
	{NULL, NULL, "the file of loads", take_loads},
};

static bool keeps(enum what what)
{
	return what == OP_FSYNC || what == OP_FSYNCDIR || what == OP_SYNC;
}

/* The base once, then all mounts of the campaign find it. */
static int make_base(const struct request *request)
{
	struct load load = {0};
	int i, error = load_read(request->loads, 0, &load);

	if (error > 0)
		return fail("%s: no load in it", request->loads);
	if (error < 0)
		return -1;
	if (subject_mount(&request->subject))
		return fail_errno("mount", request->subject.source);
	for (i = 0; !error && i < load.base; i++)
		error = play(&load, i);
	if (subject_unmount(&request->subject) && !error)
		error = fail_errno("unmount", MOUNTPOINT);
	load_free(&load);
	return error;
}

static int play_marked(const struct request *request, const struct load *load)
{
	int i;

	for (i = load->base; i < load->ops; i++) {
		if (journal_say("mark %d", BEGUN(i)))
			return -1;
		if (!(request->lie && keeps(load->op[i].what)) && play(load, i))
			return -1;
		if (journal_say("mark %d", RETURNED(i)))
			return -1;
	}
	return 0;
}

/* The load from mount to unmount, in the journal. */
static int record(const struct request *request, struct load *load)
{
	struct timespec begin = {.tv_sec = LOAD_BEGINS_S};
	int error;

	clock_settime(CLOCK_REALTIME, &begin);
	if (journal_say("record"))
		return -1;
	if (subject_mount(&request->subject))
		return fail_errno("mount", request->subject.source);
	error = play_marked(request, load);
	if (subject_unmount(&request->subject) && !error)
		error = fail_errno("unmount", MOUNTPOINT);
	if (journal_say("stop") || error)
		return -1;
	return journal_read_marks(load);
}

static int write_after(void)
{
	int fd = open(AFTER, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	char bytes[AFTER_BYTES];
	int error;

	memset(bytes, 'a', sizeof(bytes));
	if (fd < 0)
		return -1;
	error = write(fd, bytes, sizeof(bytes)) != sizeof(bytes) || fsync(fd);
	return close(fd) || error ? -1 : 0;
}

static bool after_is_there(void)
{
	char bytes[AFTER_BYTES + 1];
	int fd = open(AFTER, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));

	if (fd >= 0)
		close(fd);
	return got == AFTER_BYTES && bytes[0] == 'a' &&
	       bytes[AFTER_BYTES - 1] == 'a';
}

/* The second mount shows what the first did, and the file written since. */
static void judge_again(const struct subject *subject, const struct load *load,
			uint32_t operations, bool in_next,
			struct finding *finding, uint64_t first)
{
	uint64_t second;

	if (subject_mount(subject)) {
		found(finding, NOT_AFTER, "second mount: %s", strerror(errno));
		return;
	}
	if (!after_is_there())
		found(finding, NOT_AFTER, "a file written and synced is lost");
	unlink(AFTER);
	judge(load, operations, in_next, finding, &second);
	if (first != second)
		found(finding, WRONG, "the second mount shows another content");
	if (subject_unmount(subject))
		found(finding, NOT_AFTER, "second unmount: %s",
		      strerror(errno));
}

static void judge_mounts(const struct subject *subject, const struct load *load,
			 uint32_t operations, bool in_next,
			 struct finding *finding, uint32_t *recovery)
{
	uint64_t seen;

	if (subject_mount(subject)) {
		found(finding, UNMOUNTABLE, "%s", strerror(errno));
		return;
	}
	journal_checked(recovery);
	judge(load, operations, in_next, finding, &seen);
	if (write_after())
		found(finding, NOT_AFTER, "a write or its sync: %s",
		      strerror(errno));
	if (subject_unmount(subject))
		found(finding, NOT_AFTER, "unmount: %s", strerror(errno));
	else
		judge_again(subject, load, operations, in_next, finding, seen);
}

static void count(struct tally *tally, const struct finding *finding,
		  const char *where)
{
	enum verdict verdict = finding->verdict;

	if (!tally->count[verdict]++) {
		tally->first[verdict] = *finding;
		snprintf(tally->where[verdict], sizeof(tally->where[verdict]),
			 "%s", where);
	}
}

/* Cut the mount after a point as well, at each of its own operations, the last
 * first. */
static int cut_recovery(const struct request *request, const struct load *load,
			uint32_t k, bool in_next, const char *where,
			uint32_t operations, struct tally *tally)
{
	uint32_t unused;
	char deeper[96];

	while (operations-- > (in_next ? 1u : 0u)) {
		struct finding finding = {0};

		snprintf(deeper, sizeof(deeper), "%s recovery %u", where,
			 operations);
		if (journal_say("back %u subset %u", operations, operations))
			return -1;
		dprintf(console, "cut %s: %s\n", load->title, deeper);
		judge_mounts(&request->subject, load, k, in_next, &finding,
			     &unused);
		kernel_judge(&finding);
		tally->recovery_points++;
		count(tally, &finding, deeper);
	}
	return 0;
}

static int point(const struct request *request, const struct load *load,
		 uint32_t k, int variant, unsigned long seed,
		 struct tally *tally)
{
	const char *name = request->variants[variant];
	bool in_next = strcmp(name, "before") != 0;
	struct finding finding = {0};
	uint32_t recovery = 0;
	char where[64], *letter = &tally->outcome[variant][k];
	long at = (long)k + request->shift;

	snprintf(where, sizeof(where), "%u:%s:%lu", k, name, seed);
	dprintf(console, "cut %s: %s\n", load->title, where);
	if (at < 0 || at > (long)tally->operations - in_next)
		return 0;
	if (journal_say("goto %ld %s %lu", at, name, seed))
		return -1;
	judge_mounts(&request->subject, load, k, in_next, &finding, &recovery);
	kernel_judge(&finding);
	tally->points++;
	count(tally, &finding, where);
	if (*letter == ' ' || finding.verdict != HELD)
		*letter = verdict_letters[finding.verdict];
	return request->recovery && finding.verdict == HELD
		       ? cut_recovery(request, load, k, in_next, where,
				      recovery, tally)
		       : 0;
}

static int points_at(const struct request *request, const struct load *load,
		     uint32_t k, struct tally *tally)
{
	unsigned long s, seeds;
	int v;

	for (v = 0; v < request->variant_count; v++) {
		const char *name = request->variants[v];
		bool before = !strcmp(name, "before");

		if (!before && k == tally->operations)
			continue;
		if (!strcmp(name, "prefix") && tally->kinds[k] == 'e')
			continue;
		seeds = before ? 1 : request->seeds;
		for (s = request->seed; s < request->seed + seeds; s++)
			if (point(request, load, k, v, s, tally))
				return -1;
	}
	return 0;
}

static void tell_finding(struct json *json, const struct tally *tally,
			 enum verdict verdict)
{
	json_object(json, NULL);
	json_text(json, "class", verdict_names[verdict]);
	json_count(json, "count", tally->count[verdict]);
	json_text(json, "first", tally->where[verdict]);
	json_text(json, "what", tally->first[verdict].what);
	json_end(json);
}

static int tell(const struct request *request, const struct load *load,
		const struct tally *tally)
{
	struct json json = {.out = stdout};
	int i;

	json_object(&json, NULL);
	json_text(&json, "load", load->title);
	json_count(&json, "operations", tally->operations);
	json_count(&json, "points", tally->points);
	json_count(&json, "recovery_points", tally->recovery_points);
	json_count(&json, "held", tally->count[HELD]);
	json_text(&json, "kinds", tally->kinds);
	json_object(&json, "outcomes");
	for (i = 0; i < request->variant_count; i++)
		json_text(&json, request->variants[i], tally->outcome[i]);
	json_end(&json);
	json_array(&json, "findings");
	for (i = 1; i < VERDICTS; i++)
		if (tally->count[i])
			tell_finding(&json, tally, i);
	json_end(&json);
	json_end(&json);
	return json_finish(&json);
}

/* The system refused an operation of the load: nothing to cut. */
static int tell_refused(const struct load *load)
{
	struct json json = {.out = stdout};

	json_object(&json, NULL);
	json_text(&json, "load", load->title);
	json_text(&json, "refused", strerror(diag_errno()));
	json_end(&json);
	return json_finish(&json);
}

static int cut_load(const struct request *request, struct load *load)
{
	struct tally tally = {0};
	uint32_t k;
	int v, error = 0;

	if (record(request, load))
		return diag_errno() ? tell_refused(load) : -1;
	tally.kinds = journal_kinds();
	if (!tally.kinds || journal_recorded(&tally.operations))
		return -1;
	for (v = 0; v < request->variant_count; v++) {
		tally.outcome[v] =
			allocate(tally.operations + 2, 1, "outcomes");
		memset(tally.outcome[v], ' ', tally.operations + 1);
	}
	for (k = request->from;
	     !error && k <= tally.operations && k <= request->to;
	     k += request->every)
		error = points_at(request, load, k, &tally);
	if (!error)
		error = tell(request, load, &tally);
	for (v = 0; v < request->variant_count; v++)
		free(tally.outcome[v]);
	free(tally.kinds);
	return error;
}

static int campaign(const struct request *request)
{
	unsigned long n;
	int error = make_base(request);

	for (n = request->first_load; !error && n <= request->last_load; n++) {
		struct load load = {0};

		error = load_read(request->loads, (int)n, &load);
		if (!error)
			error = cut_load(request, &load);
		load_free(&load);
	}
	return error < 0 ? -1 : 0;
}

int main(int argc, char **argv)
{
	struct request request = {
		.subject = {.options = "", .ubi = NONE},
		.last_load = INT32_MAX,
		.to = UINT32_MAX,
		.every = 1,
		.seed = 1,
		.seeds = 1,
	};
	bool helped;

	(void)argc;
	diag_program = "cutcheck";
	if (options_walk(options, sizeof(options) / sizeof(*options), argv + 1,
			 &request, "OPTION... LOADS",
			 "Cuts the power at each flash operation of loads.",
			 &helped))
		return helped ? EXIT_OK : EXIT_USAGE;
	if (!request.loads || !request.subject.type || !request.every ||
	    !request.variant_count) {
		fail("needs --type, --variant and a file of loads");
		return EXIT_USAGE;
	}
	console = open("/dev/console", O_WRONLY | O_CLOEXEC);
	klogctl(CONSOLE_LEVEL, NULL, ALERTS);
	return kernel_open() || campaign(&request) ? EXIT_RUN_FAILED : EXIT_OK;
}
