/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is asked of a campaign, and the outcomes of a load's points. */
#ifndef LIB_CUTS_CAMPAIGN_H
#define LIB_CUTS_CAMPAIGN_H

#include "cuts/cuts.h"

#define VARIANTS_MAX 32
#define WHERE_BYTES  104 /* of a point's name */

struct request {
	struct subject subject;
	const char *loads;
	const char *variants[VARIANTS_MAX];
	struct journal_way way[VARIANTS_MAX]; /* not of faults */
	int variant_count;
	unsigned long first_load, last_load, from, to, every, seed, seeds;
	unsigned long repeat; /* times that each point is judged */
	unsigned long mounts; /* of a point with unstable cells */
	bool lie;   /* a sync does nothing, and says that it returned */
	long shift; /* the chip is so many operations off */
	bool recovery;
	unsigned long second; /* after a cut recovery, one of so many operations
			       * is cut too; 0: none */
	bool leave;	      /* the chip as the last check left it */
	bool check;	      /* read the loads, and do nothing */
};

/* Outcomes of a load's points. */
struct tally {
	uint32_t operations;
	uint64_t recording; /* a digest of it */
	uint32_t chip;	    /* CRC-32 before and after all points */
	char *kinds;
	char *notes; /* a line a point: its class, a tab, what was struck; NULL:
		      * none */
	char *outcome[VARIANTS_MAX]; /* a letter an operation */
	uint64_t points, recovery_points, second_points;
	uint64_t told, read_only; /* of faults: a call of the load failed; the
				   * file system was read-only after it */
	uint64_t count[VERDICTS];
	struct finding first[VERDICTS];
	char where[VERDICTS][WHERE_BYTES];
};

/* What a program does with the loads that are asked for; -1 after a message. */
typedef int campaign(struct request *request);

/* points.c: record each load, and cut the power at each of its points. */
campaign cuts_points;

/* main.c: a program's main(), with its own oracle and campaign. Its exit code.
 */
int cuts_main(char **argv, const char *about, const struct oracle *oracle,
	      campaign *run);

/* record.c: what a campaign needs before its first mount: the console, which is
 * told each point, and the kernel's log. */
int cuts_begin(struct request *request, int *console);

/* record.c: make what is there before the loads; play a load from a mount to an
 * unmount, in the journal. -1 after a message. beside: of a call that failed
 * once a sync had begun beside the load. */
int cuts_make_base(const struct request *request);
int cuts_record(const struct request *request, struct load *load,
		struct finding *beside);
void cuts_set_clock(void);

/* What is judged: a load after so many flash operations. */
#define MOUNTS_MIN 2
struct cut {
	const struct load *load;
	uint32_t operations;
	bool in_next; /* the next operation has begun */
	int mounts;   /* times that it is mounted, MOUNTS_MIN or more */
};

/* mounts.c: mount, judge what is there, write, and mount again. Mounts after
 * the second one must show what that did. synced: the check's own flash
 * operations when the sync of its write had returned; as it was if the first
 * mount fails. */
void judge_mounts(const struct subject *subject, const struct cut *cut,
		  struct finding *finding, uint32_t *synced);

/* Cut the check, too, right after its sync had returned, and mount: its file
 * must be there. -1 after a message. */
int judge_synced(const struct subject *subject, uint32_t synced,
		 struct finding *finding);
void cuts_count(struct tally *tally, const struct finding *finding,
		const char *where);

/* tell.c: note what a point struck, and its class. */
void cuts_note(struct tally *tally, const char *what,
	       const struct finding *finding);

/* tell.c: a JSON line for a load: its outcomes, or that the file system refused
 * an operation of it, so that there is nothing to cut. */
int cuts_tell(const struct request *request, const struct load *load,
	      const struct tally *tally);
int cuts_tell_refused(const struct load *load);

/* tell.c: the same of a load that has no points, for a call of it failed after
 * so many operations. */
int cuts_tell_failed(const struct load *load, uint32_t operations,
		     const struct finding *finding);

#endif
