// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * faultcheck: what a file system makes of a chip that fails, operation by
 * operation.
 *
 * It is cutcheck, with another campaign: a point is no power cut but a fault,
 * named as a variant (kinds/), at the K-th flash operation of a load.
 *
 * The load is played, up to the first call that fails: that one may have
 * happened in part, those before it must have happened, those after it have
 * not. After an unmount the file system is judged by two mounts as after a cut.
 * Bits go wrong in the midst of a load that says "damage", between two
 * mounts; else once it is over. Each fault is tried at K = 0, 1, 2 ... until
 * the load passes without it.
 */
#include "faults.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "diag.h"
#include "flashstat.h"

#define ALL_DONE (NEVER - 1)

/* The Makefile: KIND(NAME) for each file of kinds/. */
#define KIND(name) extern const struct fault_kind fault_kind_##name;
KINDS
#undef KIND
#define KIND(name) &fault_kind_##name,
static const struct fault_kind *const kinds[] = {KINDS NULL};
#undef KIND

static int console = -1;

/* NULL: there is none of this name. */
static const struct fault_kind *find_kind(const char *name)
{
	const struct fault_kind *const *kind = kinds;

	while (*kind && strcmp((*kind)->name, name))
		kind++;
	return *kind;
}

static bool strikes(const struct fault_kind *kind, char operation)
{
	return !kind->strikes || kind->strikes(operation);
}

static int damage(struct point *p)
{
	int error;

	if (p->struck || !p->kind->damage)
		return 0;
	error = p->kind->damage(p);
	p->struck = !error;
	return error < 0 ? -1 : 0;
}

/* The chip is damaged while no file system is mounted. */
static int damage_between(struct point *p)
{
	const struct subject *subject = &p->request->subject;

	subject->oracle->play_end();
	if (subject_unmount(subject))
		return fail_errno("unmount", MOUNTPOINT);
	if (damage(p))
		return -1;
	if (!subject_mount(subject))
		return 0;
	p->failed = true;
	return 0;
}

/* The load's calls up to the first that fails. -1: the journal is of no use. */
static int play_until_it_fails(struct point *p)
{
	const struct oracle *oracle = p->request->subject.oracle;
	struct load *load = p->load;
	int i;

	for (i = load->base; i < load->ops && !p->failed; i++) {
		load->op[i].begun = 0;
		if (load->op[i].what == OP_DAMAGE) {
			if (damage_between(p))
				return -1;
		} else {
			p->failed = oracle->play(load, i) != 0;
		}
		if (!p->failed)
			load->op[i].returned = 0;
	}
	return 0;
}

static void forget(struct load *load)
{
	int i;

	for (i = load->base; i < load->ops; i++)
		load->op[i].begun = load->op[i].returned = NEVER;
}

static bool is_read_only(void)
{
	struct statvfs there;

	return !statvfs(MOUNTPOINT, &there) && (there.f_flag & ST_RDONLY);
}

static int play_mounted(struct point *p)
{
	int error;

	if (p->kind->begin && p->kind->begin(p))
		return -1;
	error = play_until_it_fails(p);
	p->read_only = is_read_only();
	p->request->subject.oracle->play_end();
	if (p->kind->finish && p->kind->finish(p))
		return -1;
	return error;
}

/* The load with the fault, from mount to unmount. */
static int play_faulty(struct point *p)
{
	const struct subject *subject = &p->request->subject;
	int error = 0;

	forget(p->load);
	cuts_set_clock();
	if (journal_say("record") || (p->kind->arm && p->kind->arm(p)))
		return -1;
	if (subject_mount(subject)) {
		p->failed = true;
	} else {
		error = play_mounted(p);
		if (subject_unmount(subject))
			p->failed = true;
	}
	if (!error)
		error = damage(p);
	if (journal_say("fail program 0") || journal_say("stop"))
		return -1;
	return error;
}

bool fault_wore_out(void)
{
	struct flash_counters counters;

	return !flash_read_counters(FLASHSTAT_DIRECTORY, &counters) &&
	       counters.worn_out;
}

bool fault_failed_once(void)
{
	uint32_t failed;

	return !journal_once_failed(&failed) && failed;
}

int fault_fail_none(void)
{
	return journal_say("once none 0");
}

/* What became of a fault that came about. */
static void count_point(const struct point *p, struct tally *tally,
			const char *where, char *letter)
{
	const struct finding *finding = &p->finding;

	tally->points++;
	tally->told += p->failed;
	tally->read_only += p->read_only;
	if (p->kind->note)
		cuts_note(tally, p->kind->note(), finding);
	cuts_count(tally, finding, where);
	if (*letter == ' ' || finding->verdict != HELD)
		*letter = cuts_verdict_letters[finding->verdict];
}

static int try_point(struct point *p, struct tally *tally, char *letter)
{
	const struct fault_kind *kind = p->kind;
	uint32_t unused;
	char where[64];

	snprintf(where, sizeof(where), "%u:%s:%lu", p->k, kind->name, p->seed);
	dprintf(console, "cut %s: %s\n", p->load->title, where);
	if (play_faulty(p))
		return -1;
	if (kind->struck)
		p->struck = kind->struck();
	if (p->struck || kind->steps) {
		judge_mounts(
			&p->request->subject,
			&(struct cut){p->load, ALL_DONE, false, MOUNTS_MIN},
			&p->finding, &unused);
		kernel_judge(&p->finding);
		if (!kind->met || kind->met())
			count_point(p, tally, where, letter);
	}
	return kind->clear ? kind->clear() : 0;
}

/* Of the operations that the kind strikes, the which the K-th is; 0: of no
 * such. */
static uint32_t nth(const char *operations, uint32_t k,
		    const struct fault_kind *kind)
{
	uint32_t i, n = 0;

	for (i = 0; i <= k; i++)
		n += strikes(kind, operations[i]);
	return strikes(kind, operations[k]) ? n : 0;
}

/* All points of a fault, until the load passes without it. */
static int try_fault(const struct request *request, struct load *load,
		     const struct fault_kind *kind, char *letters,
		     struct tally *tally)
{
	unsigned long k, s;

	for (k = request->from; k < tally->operations && k <= request->to;
	     k += request->every) {
		bool passed = kind->steps;

		for (s = request->seed; s < request->seed + request->seeds;
		     s++) {
			struct point p = {.request = request,
					  .load = load,
					  .kind = kind,
					  .k = (uint32_t)k,
					  .seed = s};

			p.nth = nth(tally->kinds, p.k, kind);
			if (!p.nth)
				continue;
			if (try_point(&p, tally, &letters[k]))
				return -1;
			passed = passed && !p.failed;
		}
		if (passed)
			break;
	}
	return 0;
}

/* What a load's operations are without a fault, or the steps of a kind. */
static int measure(const struct request *request, struct load *load,
		   uint32_t steps, struct tally *tally)
{
	if (steps) {
		tally->operations = steps;
		tally->kinds = allocate(steps + 1, 1, "kinds");
		memset(tally->kinds, 'f', steps);
		return 0;
	}
	if (cuts_record(request, load, &(struct finding){0}))
		return diag_errno() ? 1 : -1;
	tally->kinds = journal_kinds();
	return !tally->kinds || journal_recorded(&tally->operations) ? -1 : 0;
}

static int fault_load(const struct request *request, struct load *load,
		      uint32_t steps)
{
	struct tally tally = {0};
	int v, error = measure(request, load, steps, &tally);

	if (error)
		return error > 0 ? cuts_tell_refused(load) : -1;
	for (v = 0; v < request->variant_count; v++) {
		tally.outcome[v] =
			allocate(tally.operations + 2, 1, "outcomes");
		memset(tally.outcome[v], ' ', tally.operations + 1);
		if (!error)
			error = try_fault(request, load,
					  find_kind(request->variants[v]),
					  tally.outcome[v], &tally);
	}
	if (!error)
		error = cuts_tell(request, load, &tally);
	for (v = 0; v < request->variant_count; v++)
		free(tally.outcome[v]);
	free(tally.kinds);
	free(tally.notes);
	return error;
}

/* steps: of the only kind that has any. */
static int refuse_mix(const struct request *request, uint32_t *steps)
{
	int v;

	*steps = 0;
	for (v = 0; v < request->variant_count; v++) {
		const struct fault_kind *kind = find_kind(request->variants[v]);

		if (!kind)
			return fail("%s: no such fault", request->variants[v]);
		if (kind->steps && request->variant_count > 1)
			return fail("%s is a campaign of its own", kind->name);
		*steps = kind->steps;
	}
	return 0;
}

static int prepare(const struct request *request)
{
	int v;

	for (v = 0; v < request->variant_count; v++) {
		const struct fault_kind *kind = find_kind(request->variants[v]);

		if (kind->prepare && kind->prepare(request))
			return -1;
	}
	return 0;
}

static int fault_loads(struct request *request)
{
	const struct oracle *oracle = request->subject.oracle;
	unsigned long n;
	uint32_t steps;
	int error;

	error = refuse_mix(request, &steps) || cuts_begin(request, &console) ||
				cuts_make_base(request) || prepare(request)
			? -1
			: 0;
	for (n = request->first_load; !error && n <= request->last_load; n++) {
		struct load load = {0};

		error = oracle->read(request->loads, (int)n, &load);
		if (!error)
			error = fault_load(request, &load, steps);
		oracle->free(&load);
	}
	return error < 0 ? -1 : 0;
}

int main(int argc, char **argv)
{
	(void)argc;
	return cuts_main(argv,
			 "Lets a chip fail at each flash operation of loads.",
			 &cuts_files, fault_loads);
}
