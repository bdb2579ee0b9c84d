/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A kind of fault: what fails, and how. Each is a file of kinds/, NAME.c, with
 * a table fault_kind_NAME. The Makefile lists them, and the host reads the
 * texts and numbers of the tables: no other file names a kind that is added.
 */
#ifndef FAULTCHECK_FAULTS_H
#define FAULTCHECK_FAULTS_H

#include "cuts/campaign.h"

#define FREE_STEP_BYTES 4096
#define FREE_MOST	64 /* steps of free room that are tried at the most */

/* One point, and what became of it. */
struct point {
	const struct request *request;
	struct load *load;
	const struct fault_kind *kind;
	uint32_t k;
	uint32_t nth; /* of the operations that the kind strikes, the which K
		       * is; 0: none */
	unsigned long seed;
	bool struck;	/* the fault came about */
	bool failed;	/* a call of the load failed */
	int error;	/* errno of the first that did */
	bool read_only; /* the file system was, when the load was over */
	struct finding finding;
};

struct fault_kind {
	/* As a variant is named: the name of its file. */
	const char *name;

	/* What fails at the K-th flash operation of a load. */
	const char *what;

	/* Its place in lists: smaller ones come first, 0 last. */
	unsigned int order;

	/* Whether a page cannot be read then: errors that tell of it are
	 * classes of their own. */
	bool unreadable;

	/* Steps K that are tried at the most, until the load passes, instead of
	 * the load's operations; such a kind is a campaign of its own. 0: its
	 * operations. */
	uint32_t steps;

	/* It fails a call at the most once. So the load is played without it
	 * first, which a file system may refuse; and a call that fails is made
	 * once more. If it succeeds then, and is none that syncs, the load goes
	 * on. Nothing is unmounted where a load says "damage". */
	bool again;

	/* A module of the kernel, of device/modules, that it needs; the host
	 * loads it. NULL: none. */
	const char *module;

	/* Of allocations of memory, which the K-th is counted among and fails:
	 * "any", or "now", those that do not wait for it. NULL: none fails. */
	const char *allocations;

	/* Letters of the operations that it strikes (journal_kinds()); NULL:
	 * any.
	 */
	const char *strikes;

	/* All that follow return 0, or -1 after a message; NULL: nothing to do.
	 * Once for all loads; before the load's mount; with it mounted, before
	 * its first call and after its last; after the point is judged. */
	int (*prepare)(const struct request *request);
	int (*arm)(const struct point *p);
	int (*begin)(const struct point *p);
	int (*finish)(struct point *p);
	int (*clear)(void);

	/* Bits go wrong, with nothing mounted. 1: there is nothing to damage.
	 */
	int (*damage)(const struct point *p);

	/* Whether it came about; NULL: damage() and finish() know. */
	bool (*struck)(void);

	/* Whether it came about while the load was played or judged: then the
	 * damage alone is no point. NULL: it did. */
	bool (*met)(void);

	/* What was struck of a page, for the table of what became of it; NULL:
	 * all of it. */
	const char *(*note)(void);
};

/* An operation is told to fail once: whether it did; that none is to. */
bool fault_failed_once(void);
int fault_fail_none(void);

/* A program or an erase is told to fail by its number: whether one did. */
bool fault_wore_out(void);

/* damage.c: flip bits of the page that the K-th recorded operation programmed:
 * so many more than the ECC corrects. 1: it programmed none, or that page was
 * written or erased since. -1 after a message. */
int damage_page(uint32_t k, int more, unsigned long seed);

/* Of the chip, in bytes but for the bits that its ECC corrects in a step. */
struct shape {
	unsigned int strength, step, page, spare, block;
};

/* damage.c: the chip's shape; the page of the K-th operation if it is a program
 * of data, and nothing came after it there. 1: it is none. */
int damage_shape(struct shape *shape);
int damage_find_page(uint32_t k, unsigned int pages_per_block, uint32_t *page);

/* The pages of a block, as they are read and will be written again. */
struct pages {
	struct shape shape;
	unsigned int count;
	uint8_t *bytes; /* of each page its data and its spare area */
	bool *used;	/* not erased */
};
uint8_t *page_bytes(const struct pages *pages, unsigned int number);

/* rewrite.c: erase the block of the page that the K-th recorded operation
 * programmed, and write it again, with another content behind right ECC.
 * change: of one page; 1: there is nothing to change. 1: likewise, or that page
 * was written or erased since; -1 after a message. */
int damage_content(uint32_t k, unsigned long seed,
		   int (*change)(const struct pages *pages, unsigned int page,
				 uint64_t *state));

/* filler.c: take all room of the file system, once; give some back; and all. */
int filler_fill(const struct subject *subject);
int filler_free(uint32_t steps);
int filler_remove(void);

#endif
