// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * faultcheck: what a file system makes of a chip that fails, operation by
 * operation.
 *
 * It is cutcheck, with another campaign: a point is no power cut but a fault,
 * named as a variant, at the K-th flash operation of a load:
 *
 *   program  that program fails, and its block is worn out
 *   erase    that erase fails, likewise
 *   flips    as many bits as the ECC corrects are wrong in the page it wrote
 *   beyond   one more, so that the page cannot be read
 *   disturb  every block was read (K + 1) x DISTURB_READS times since its erase
 *   full     K files of 4 KiB are deleted of a file system that is full
 *
 * The load is played, up to the first call that fails: that one may have
 * happened in part, those before it must have happened, those after it have
 * not. After an unmount the file system is judged by two mounts as after a cut.
 * Bits go wrong in the midst of a load that says "damage", between two
 * mounts; else once it is over. Each fault is tried at K = 0, 1, 2 ... until
 * the load passes without it.
 */
#include "faults.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "diag.h"
#include "flashstat.h"

#define ALL_DONE (NEVER - 1)

static const char *const names[FAULTS] = {"program", "erase",	"flips",
					  "beyond",  "disturb", "full"};
static int console = -1;

enum fault fault_of(const char *name)
{
	enum fault fault = FAULT_PROGRAM;

	while (fault < FAULTS && strcmp(name, names[fault]))
		fault++;
	return fault;
}

/* One point, and what became of it. */
struct point {
	const struct request *request;
	struct load *load;
	enum fault fault;
	uint32_t k;
	uint32_t nth; /* program or erase since the recording began */
	unsigned long seed;
	bool struck; /* the fault came about */
	bool failed; /* a call of the load failed */
	struct finding finding;
};

static bool flips(const struct point *p)
{
	return p->fault == FAULT_FLIPS || p->fault == FAULT_BEYOND;
}

/* Whether a program or an erase is told to fail by its number. */
static bool by_number(const struct point *p)
{
	return p->fault == FAULT_PROGRAM || p->fault == FAULT_ERASE;
}

static int damage(struct point *p)
{
	int error = 1;

	if (p->struck)
		return 0;
	if (p->fault == FAULT_DISTURB)
		error = journal_say("disturb %u %lu",
				    (p->k + 1) * DISTURB_READS, p->seed);
	else if (flips(p))
		error = damage_page(p->k, p->fault == FAULT_BEYOND, p->seed);

	p->struck = p->struck || !error;
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

static int arm(const struct point *p)
{
	if (p->fault == FAULT_PROGRAM)
		return journal_say("fail program %u", p->nth);
	if (p->fault == FAULT_ERASE)
		return journal_say("fail erase %u", p->nth);
	return 0;
}

static void forget(struct load *load)
{
	int i;

	for (i = load->base; i < load->ops; i++)
		load->op[i].begun = load->op[i].returned = NEVER;
}

static int play_mounted(struct point *p)
{
	int error;

	if (p->fault == FAULT_FULL && filler_free(p->k))
		return -1;
	error = play_until_it_fails(p);
	p->request->subject.oracle->play_end();
	p->struck = p->struck || (p->fault == FAULT_FULL && p->failed);
	if (p->fault == FAULT_FULL && filler_remove())
		cuts_found(&p->finding, NOT_AFTER, "no file can be deleted: %s",
			   strerror(errno));
	return error;
}

/* The load with the fault, from mount to unmount. */
static int play_faulty(struct point *p)
{
	const struct subject *subject = &p->request->subject;
	int error = 0;

	forget(p->load);
	cuts_set_clock();
	if (journal_say("record") || arm(p))
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

static bool worn(void)
{
	struct flash_counters counters;

	return !flash_read_counters(FLASHSTAT_DIRECTORY, &counters) &&
	       counters.worn_out;
}

static int try_point(struct point *p, struct tally *tally, char *letter)
{
	const char *name = names[p->fault];
	uint32_t unused;
	char where[64];

	snprintf(where, sizeof(where), "%u:%s:%lu", p->k, name, p->seed);
	dprintf(console, "cut %s: %s\n", p->load->title, where);
	if (play_faulty(p))
		return -1;
	if (by_number(p))
		p->struck = worn();
	if (!p->struck && p->fault != FAULT_FULL)
		return 0;
	judge_mounts(&p->request->subject, p->load, ALL_DONE, false,
		     &p->finding, &unused);
	kernel_judge(&p->finding);
	if (p->fault == FAULT_DISTURB && journal_say("disturb 0 0"))
		return -1;
	tally->points++;
	cuts_count(tally, &p->finding, where);
	if (*letter == ' ' || p->finding.verdict != HELD)
		*letter = cuts_verdict_letters[p->finding.verdict];
	return 0;
}

/* Of the operations of its kind, the which the K-th is; 0: of another kind. */
static uint32_t nth(const char *kinds, uint32_t k, enum fault fault)
{
	uint32_t i, n = 0;

	for (i = 0; i <= k; i++)
		n += (kinds[i] == 'e') == (fault == FAULT_ERASE);
	return (kinds[k] == 'e') == (fault == FAULT_ERASE) ? n : 0;
}

/* All points of a fault, until the load passes without it. */
static int try_fault(const struct request *request, struct load *load,
		     enum fault fault, char *letters, struct tally *tally)
{
	bool full = fault == FAULT_FULL;
	unsigned long k, s;

	for (k = request->from; k < tally->operations && k <= request->to;
	     k += request->every) {
		bool passed = full;

		for (s = request->seed; s < request->seed + request->seeds;
		     s++) {
			struct point p = {.request = request,
					  .load = load,
					  .fault = fault,
					  .k = (uint32_t)k,
					  .seed = s};

			p.nth = full ? 0 : nth(tally->kinds, p.k, fault);
			if (by_number(&p) && !p.nth)
				continue;
			if (flips(&p) && tally->kinds[k] != 'p')
				continue;
			if (try_point(&p, tally, &letters[k]))
				return -1;
			passed = passed && !p.failed;
		}
		if (passed && full)
			break;
	}
	return 0;
}

/* What a load's operations are without a fault; of a full disk, steps of free
 * room. */
static int measure(const struct request *request, struct load *load, bool full,
		   struct tally *tally)
{
	if (full) {
		tally->operations = FREE_MOST;
		tally->kinds = allocate(FREE_MOST + 1, 1, "kinds");
		memset(tally->kinds, 'f', FREE_MOST);
		return 0;
	}
	if (cuts_record(request, load))
		return diag_errno() ? 1 : -1;
	tally->kinds = journal_kinds();
	return !tally->kinds || journal_recorded(&tally->operations) ? -1 : 0;
}

static int fault_load(const struct request *request, struct load *load,
		      bool full)
{
	struct tally tally = {0};
	int v, error = measure(request, load, full, &tally);

	if (error)
		return error > 0 ? cuts_tell_refused(load) : -1;
	for (v = 0; v < request->variant_count; v++) {
		tally.outcome[v] =
			allocate(tally.operations + 2, 1, "outcomes");
		memset(tally.outcome[v], ' ', tally.operations + 1);
		if (!error)
			error = try_fault(request, load,
					  fault_of(request->variants[v]),
					  tally.outcome[v], &tally);
	}
	if (!error)
		error = cuts_tell(request, load, &tally);
	for (v = 0; v < request->variant_count; v++)
		free(tally.outcome[v]);
	free(tally.kinds);
	return error;
}

static int refuse_mix(const struct request *request, bool *full)
{
	int v;

	*full = false;
	for (v = 0; v < request->variant_count; v++) {
		enum fault fault = fault_of(request->variants[v]);

		if (fault == FAULT_UNKNOWN)
			return fail("%s: no such fault", request->variants[v]);
		*full = *full || fault == FAULT_FULL;
	}
	if (*full && request->variant_count > 1)
		return fail("a full disk is a campaign of its own");
	return 0;
}

static int fault_loads(struct request *request)
{
	const struct oracle *oracle = request->subject.oracle;
	unsigned long n;
	bool full;
	int error;

	error = refuse_mix(request, &full) || cuts_begin(request, &console) ||
				cuts_make_base(request) ||
				(full && filler_fill(&request->subject))
			? -1
			: 0;
	for (n = request->first_load; !error && n <= request->last_load; n++) {
		struct load load = {0};

		error = oracle->read(request->loads, (int)n, &load);
		if (!error)
			error = fault_load(request, &load, full);
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
