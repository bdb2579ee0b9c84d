// SPDX-License-Identifier: GPL-2.0-or-later
/* Records each load, goes to each point, and has what is there judged. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuts/campaign.h"
#include "diag.h"
#include "payload.h"

static int console = -1;

/* A point whose recovery is cut too. */
struct point {
	const struct load *load;
	uint32_t k;
	bool in_next;
	const char *torn; /* how an operation of its recovery is */
	unsigned long seed;
};

/* Of a title: loads that are alike at first are not drawn alike. */
static uint64_t digest_of(const char *title)
{
	uint64_t digest = 0;

	for (; *title; title++)
		digest = digest * 0x100000001b3u + (uint8_t)*title;
	return digest;
}

/* Whether any recovery that follows a cut one is cut at this operation: one of
 * so many, drawn by the point's seed. */
static bool is_drawn(const struct request *request, const struct point *point,
		     uint32_t first, uint32_t operation)
{
	uint64_t state = digest_of(point->load->title) + point->seed +
			 ((uint64_t)point->k << 40) + ((uint64_t)first << 20) +
			 operation;

	return request->second && payload_draw(&state) % request->second == 0;
}

/* Whether a point's check is cut after its sync: one of SYNCED_EVERY points. */
#define SYNCED_EVERY 8
static bool is_synced(const struct load *load, uint32_t k, const char *name,
		      unsigned long seed)
{
	uint64_t state = digest_of(load->title) + seed + ((uint64_t)k << 32) +
			 ((uint64_t)name[0] << 24);

	return payload_draw(&state) % SYNCED_EVERY == 0;
}

static int cut_second(const struct request *request, const struct point *point,
		      const char *where, uint32_t first, uint32_t operations,
		      struct tally *tally);

/* The check's first operations are kept, and the next is torn; then all that a
 * point is judged by. */
static int cut_once(const struct request *request, const struct point *point,
		    const char *where, uint32_t operation,
		    struct finding *finding, uint32_t *after)
{
	*after = 0;
	if (journal_say("back %u %s %u", operation, point->torn, operation))
		return -1;
	dprintf(console, "cut %s: %s\n", point->load->title, where);
	judge_mounts(&request->subject,
		     &(struct cut){point->load, point->k, point->in_next,
				   MOUNTS_MIN},
		     finding, after);
	kernel_judge(finding);
	return 0;
}

/* Cut what follows a point as well, until the sync of the check's own file has
 * returned, at each operation, the last first; and of what follows those cuts
 * some. */
static int cut_recovery(const struct request *request,
			const struct point *point, const char *where,
			uint32_t operations, struct tally *tally)
{
	char deeper[WHERE_BYTES - 16];
	uint32_t after;

	while (operations-- > (point->in_next ? 1u : 0u)) {
		struct finding finding = {0};

		snprintf(deeper, sizeof(deeper), "%s recovery %u", where,
			 operations);
		if (cut_once(request, point, deeper, operations, &finding,
			     &after))
			return -1;
		tally->recovery_points++;
		cuts_count(tally, &finding, deeper);
		if (finding.verdict == HELD &&
		    cut_second(request, point, deeper, operations, after,
			       tally))
			return -1;
	}
	return 0;
}

/* first: the operation that was torn before this recovery. */
static int cut_second(const struct request *request, const struct point *point,
		      const char *where, uint32_t first, uint32_t operations,
		      struct tally *tally)
{
	char deeper[WHERE_BYTES];
	uint32_t unused;

	while (operations-- > first + 1) {
		struct finding finding = {0};

		if (!is_drawn(request, point, first, operations))
			continue;
		snprintf(deeper, sizeof(deeper), "%s, %u", where, operations);
		if (cut_once(request, point, deeper, operations, &finding,
			     &unused))
			return -1;
		tally->second_points++;
		cuts_count(tally, &finding, deeper);
	}
	return 0;
}

/* Judge a point as often as asked for, each time the same. */
static int judge_point(const struct request *request, const struct load *load,
		       uint32_t k, int variant, unsigned long seed,
		       struct finding *finding, uint32_t *synced)
{
	const char *name = request->variants[variant];
	struct cut cut = {
		.load = load,
		.operations = k,
		.in_next = strcmp(name, "before") != 0,
		.mounts = request->way[variant].unstable ? (int)request->mounts
							 : MOUNTS_MIN,
	};
	unsigned long i;

	for (i = 0; i < request->repeat; i++) {
		struct finding again = {0};

		*synced = 0;
		if (journal_say("goto %ld %s %lu", (long)k + request->shift,
				name, seed))
			return -1;
		judge_mounts(&request->subject, &cut, &again, synced);
		kernel_judge(&again);
		if (again.verdict == HELD && !request->leave &&
		    is_synced(load, k, name, seed) &&
		    judge_synced(&request->subject, *synced, &again))
			return -1;
		kernel_judge(&again);
		if (!i)
			*finding = again;
		if (finding->verdict == again.verdict &&
		    !strcmp(finding->what, again.what))
			continue;
		*finding = (struct finding){0};
		cuts_found(finding, VARIES, "time %lu: %s: %s", i + 1,
			   cuts_verdict_names[again.verdict], again.what);
		break;
	}
	return 0;
}

/* How the recovery of a point is torn: as the point, where that tears only
 * programs (an erase of the check is then torn as subset: torn.h). */
static const char *recovery_torn(const struct request *request, int variant)
{
	return request->way[variant].tears_erases ? "subset"
						  : request->variants[variant];
}

static int point(const struct request *request, const struct load *load,
		 uint32_t k, int variant, unsigned long seed,
		 struct tally *tally)
{
	const char *name = request->variants[variant];
	bool in_next = strcmp(name, "before") != 0;
	struct finding finding = {0};
	uint32_t synced = 0;
	char where[64], *letter = &tally->outcome[variant][k];
	long at = (long)k + request->shift;

	snprintf(where, sizeof(where), "%u:%s:%lu", k, name, seed);
	dprintf(console, "cut %s: %s\n", load->title, where);
	if (at < 0 || at > (long)tally->operations - in_next)
		return 0;
	if (judge_point(request, load, k, variant, seed, &finding, &synced))
		return -1;
	tally->points++;
	cuts_count(tally, &finding, where);
	if (*letter == ' ' || finding.verdict != HELD)
		*letter = cuts_verdict_letters[finding.verdict];
	return request->recovery && finding.verdict == HELD
		       ? cut_recovery(request,
				      &(struct point){
					      load, k, in_next,
					      recovery_torn(request, variant),
					      seed},
				      where, synced, tally)
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
		if (tally->kinds[k] == 'e' && !request->way[v].tears_erases)
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
	if (request->leave)
		return 0;
	if (first_chip(&after))
		return -1;
	if (after != tally->chip)
		return fail("%s: the chip is not as it was before the points: "
			    "CRC-32 %08x, not %08x",
			    load->title, after, tally->chip);
	return 0;
}

/* A call of the load failed: that it was refused is undone, and is a finding if
 * a sync was beside it. */
static int cut_none(const struct load *load, const struct finding *beside)
{
	uint32_t operations;

	if (!diag_errno() || journal_recorded(&operations) ||
	    journal_say("goto 0 before 1"))
		return -1;
	return beside->verdict == HELD
		       ? cuts_tell_refused(load)
		       : cuts_tell_failed(load, operations, beside);
}

static int cut_load(const struct request *request, struct load *load)
{
	struct finding beside = {0};
	struct tally tally = {0};
	int v, error;

	if (cuts_record(request, load, &beside))
		return cut_none(load, &beside);
	tally.kinds = journal_kinds();
	if (!tally.kinds || journal_recorded(&tally.operations))
		return -1;
	for (v = 0; v < request->variant_count; v++) {
		tally.outcome[v] =
			allocate(tally.operations + 2, 1, "outcomes");
		memset(tally.outcome[v], ' ', tally.operations + 1);
	}
	error = cut_points(request, load, &tally) ||
		cuts_tell(request, load, &tally);
	for (v = 0; v < request->variant_count; v++)
		free(tally.outcome[v]);
	free(tally.kinds);
	return error ? -1 : 0;
}

static int find_ways(struct request *request)
{
	int v;

	for (v = 0; v < request->variant_count; v++)
		if (journal_find_way(request->variants[v], &request->way[v]))
			return -1;
	return 0;
}

int cuts_points(struct request *request)
{
	const struct oracle *oracle = request->subject.oracle;
	unsigned long n;
	int error;

	error = cuts_begin(request, &console) || find_ways(request) ||
				cuts_make_base(request)
			? -1
			: 0;

	for (n = request->first_load; !error && n <= request->last_load; n++) {
		struct load load = {0};

		error = oracle->read(request->loads, (int)n, &load);
		if (!error)
			error = cut_load(request, &load);
		oracle->free(&load);
	}
	return error < 0 ? -1 : 0;
}
