// SPDX-License-Identifier: GPL-2.0-or-later
/* Records each load, goes to each point, and has what is there judged. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <time.h>
#include <unistd.h>

#include "cut.h"
#include "diag.h"

#define AFTER	    MOUNTPOINT "/written-after"
#define AFTER_BYTES 5000
#define LOAD_BEGINS_S                                           \
	1893456000 /* 2030: files of a load have the same times \
		    */
#define CONSOLE_LEVEL 8
#define ALERTS	      2

static int console = -1;

static bool keeps(enum what what)
{
	return what == OP_FSYNC || what == OP_FSYNCDIR || what == OP_SYNC ||
	       what == OP_READONLY;
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
	play_end();
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
	play_end();
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

/* The second mount shows what the first did, and the file written since. What
 * it shows is judged only if it is not the same. */
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
	look(load, finding, &second);
	if (first != second) {
		judge(load, operations, in_next, finding, &second);
		found(finding, WRONG, "the second mount shows another content");
	}
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

/* Judge a point as often as asked for, each time the same. */
static int judge_point(const struct request *request, const struct load *load,
		       uint32_t k, const char *name, unsigned long seed,
		       struct finding *finding, uint32_t *recovery)
{
	bool in_next = strcmp(name, "before") != 0;
	unsigned long i;

	for (i = 0; i < request->repeat; i++) {
		struct finding again = {0};

		if (journal_say("goto %ld %s %lu", (long)k + request->shift,
				name, seed))
			return -1;
		judge_mounts(&request->subject, load, k, in_next, &again,
			     recovery);
		kernel_judge(&again);
		if (!i)
			*finding = again;
		if (finding->verdict == again.verdict &&
		    !strcmp(finding->what, again.what))
			continue;
		*finding = (struct finding){0};
		found(finding, VARIES, "time %lu: %s: %s", i + 1,
		      verdict_names[again.verdict], again.what);
		break;
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
	if (judge_point(request, load, k, name, seed, &finding, &recovery))
		return -1;
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

/* The chip at the load's beginning, after all that was tried is undone. */
static int first_chip(uint32_t *crc)
{
	return journal_say("goto 0 before 1") || journal_chip(crc) ? -1 : 0;
}

static int cut_points(const struct request *request, const struct load *load,
		      struct tally *tally)
{
	uint32_t after, k;

	if (first_chip(&tally->chip) || journal_recording(&tally->recording))
		return -1;
	for (k = request->from; k <= tally->operations && k <= request->to;
	     k += request->every)
		if (points_at(request, load, k, tally))
			return -1;
	if (first_chip(&after))
		return -1;
	if (after != tally->chip)
		return fail("%s: the chip is not as it was before the points: "
			    "CRC-32 %08x, not %08x",
			    load->title, after, tally->chip);
	return 0;
}

static int cut_load(const struct request *request, struct load *load)
{
	struct tally tally = {0};
	int v, error;

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
	error = cut_points(request, load, &tally) ||
		tell(request, load, &tally);
	for (v = 0; v < request->variant_count; v++)
		free(tally.outcome[v]);
	free(tally.kinds);
	return error ? -1 : 0;
}

/* Unmounting waits for several grace periods, which else take a tick each and
 * are most of an unmount. No kernel has to have the knob. */
static void hurry_grace_periods(void)
{
	int fd = open("/sys/kernel/rcu_expedited", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	dprintf(fd, "1");
	close(fd);
}

int campaign(struct request *request)
{
	unsigned long n;
	int error;

	console = open("/dev/console", O_WRONLY | O_CLOEXEC);
	klogctl(CONSOLE_LEVEL, NULL, ALERTS);
	hurry_grace_periods();
	if (request->subject.module.name &&
	    module_read(&request->subject.module))
		return -1;
	error = kernel_open() || make_base(request) ? -1 : 0;

	for (n = request->first_load; !error && n <= request->last_load; n++) {
		struct load load = {0};

		error = load_read(request->loads, (int)n, &load);
		if (!error)
			error = cut_load(request, &load);
		load_free(&load);
	}
	return error < 0 ? -1 : 0;
}
