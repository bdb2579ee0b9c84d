// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * faultcheck: what a file system makes of a chip that fails, operation by
 * operation.
 *
 * It is cutcheck, with another campaign: a point is no power cut but a fault,
 * named as a variant (kinds/), at the K-th flash operation of a load.
 *
 * The load is played, up to the first call that fails (and fails again, where a
 * kind says so): that one may have happened in part, those before it must have
 * happened, those after it have not. After an unmount the file system is judged
 * by two mounts as after a cut. Bits go wrong in the midst of a load that says
 * "damage", between two mounts; else once it is over. Each fault is tried at
 * K = 0, 1, 2 ... until the load passes without it.
 */
#include "faults.h"

#include <fcntl.h>
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
	return !kind->strikes || strchr(kind->strikes, operation);
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

/* Of a sync that failed nobody knows what the same sync would keep, made again.
 */
static bool is_made_again(const struct point *p, enum what what)
{
	switch (what) {
	case OP_SWRITE:
	case OP_FSYNC:
	case OP_FDATASYNC:
	case OP_FSYNCDIR:
	case OP_SYNC:
	case OP_READONLY:
	case OP_BEGINSYNC:
	case OP_ENDSYNC:
		return false;
	default:
		return p->kind->again;
	}
}

/* Whether the call has succeeded. */
static bool play_call(struct point *p, int number)
{
	const struct oracle *oracle = p->request->subject.oracle;

	if (!oracle->play(p->load, number))
		return true;
	if (!p->failed)
		p->error = diag_errno();
	p->failed = true;
	return is_made_again(p, p->load->op[number].what) &&
	       !oracle->play(p->load, number);
}

/* The load's calls up to the first that fails. -1: the journal is of no use. */
static int play_until_it_fails(struct point *p)
{
	struct load *load = p->load;
	bool over = false;
	int i;

	for (i = load->base; i < load->ops && !over; i++) {
		load->op[i].begun = 0;
		if (load->op[i].what != OP_DAMAGE) {
			over = !play_call(p, i);
		} else if (!p->kind->again) {
			if (damage_between(p))
				return -1;
			over = p->failed;
		}
		if (!over)
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

/* What a call that is to fail says is no news, and would hide what is. The
 * first time opens files, so it is no part of a load. */
static void hush(bool on)
{
	static int said = -1, nowhere = -1;

	if (said < 0) {
		said = dup(STDERR_FILENO);
		nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	}
	dup2(on ? nowhere : said, STDERR_FILENO);
}

static int play_calls(struct point *p)
{
	int error;

	if (p->kind->again)
		hush(true);
	error = play_until_it_fails(p);
	if (p->kind->again)
		hush(false);
	return error;
}

static int play_mounted(struct point *p)
{
	int error;

	if (p->kind->begin && p->kind->begin(p))
		return -1;
	error = play_calls(p);
	p->request->subject.oracle->play_end();
	if (p->kind->finish && p->kind->finish(p))
		return -1;
	p->read_only = is_read_only();
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
			passed = passed && !p.failed && !p.struck;
		}
		if (passed)
			break;
	}
	return 0;
}

/* What a load's operations are without a fault, or the steps of a kind that is
 * alone. 1: the file system refuses the load. */
static int measure(const struct request *request, struct load *load,
		   const struct fault_kind *alone, struct tally *tally)
{
	if ((!alone || alone->again) &&
	    cuts_record(request, load, &(struct finding){0}))
		return diag_errno() ? 1 : -1;
	if (alone) {
		tally->operations = alone->steps;
		tally->kinds = allocate(alone->steps + 1, 1, "kinds");
		memset(tally->kinds, 'f', alone->steps);
		return 0;
	}
	tally->kinds = journal_kinds();
	return !tally->kinds || journal_recorded(&tally->operations) ? -1 : 0;
}

static int fault_load(const struct request *request, struct load *load,
		      const struct fault_kind *alone)
{
	struct tally tally = {0};
	int v, error = measure(request, load, alone, &tally);

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

/* alone: the kind that is a campaign of its own; NULL: none. */
static int refuse_mix(const struct request *request,
		      const struct fault_kind **alone)
{
	int v;

	*alone = NULL;
	for (v = 0; v < request->variant_count; v++) {
		const struct fault_kind *kind = find_kind(request->variants[v]);

		if (!kind)
			return fail("%s: no such fault", request->variants[v]);
		if (kind->steps && request->variant_count > 1)
			return fail("%s is a campaign of its own", kind->name);
		*alone = kind->steps ? kind : NULL;
	}
	return 0;
}

static int prepare(const struct request *request)
{
	int v;

	hush(false);
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
	const struct fault_kind *alone;
	int error;

	error = refuse_mix(request, &alone) || cuts_begin(request, &console) ||
				cuts_make_base(request) || prepare(request)
			? -1
			: 0;
	for (n = request->first_load; !error && n <= request->last_load; n++) {
		struct load load = {0};

		error = oracle->read(request->loads, (int)n, &load);
		if (!error)
			error = fault_load(request, &load, alone);
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
