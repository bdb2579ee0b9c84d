/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The journal: every program and erase of a chip with what it changed, before
 * and after, so that the chip can be brought to the state that it had after any
 * of them, or in the midst of one (torn.h).
 *
 * It stands between the chip's pins and its cells: decode.c is compiled to call
 * the cut_*() functions below instead of array_*(). It needs memory that the
 * caller owns: marks first, then what the operations changed, upwards, and
 * their entries, downwards from the end. A program costs two pages of it if
 * it is not the first since the erase, else one; an erase as many as its block
 * has programmed.
 *
 * Off, it costs nothing. While it records or checks, reads disturb nothing:
 * what a check reads must not age the chip. While it checks, the chip takes no
 * time: nothing is measured then, and waiting costs the host.
 */
#ifndef POWERCUT_JOURNAL_H
#define POWERCUT_JOURNAL_H

#include "chip.h"

#define JOURNAL_MARKS_MAX 65536

enum journal_mode {
	JOURNAL_OFF,
	JOURNAL_RECORD, /* operations go to the recording */
	JOURNAL_CHECK,	/* they are of a check, and will be undone */
};

enum journal_kind {
	JOURNAL_PROGRAM,
	JOURNAL_OOB_PROGRAM, /* spare bytes alone */
	JOURNAL_MARK_BAD,    /* spare bytes alone: the bad block marker */
	JOURNAL_ERASE,
};

/* What the chip keeps beside cells, as far as a program or an erase moves it.
 */
struct journal_side {
	u64 op_seq;
	u64 programs;
	u64 erases;
	u32 wear;
	u32 disturb;
	u32 flags;
	u32 data_pages;
	u32 high;
	u32 flips; /* stored flips of the whole chip */
	u64 at;	   /* where their list is, then the pages: see journal.c */
};

struct journal_entry {
	u32 first; /* page of the chip: the one programmed, or the block's first
		    */
	u32 pages; /* that it may have changed: 1, or all of the block */
	u32 kind;
	u32 crc; /* CRC-32 of the pages after it, their states included; only of
		  * a recorded one */
	struct journal_side before;
	struct journal_side after;
};

/* Something that the recorded load said, after so many operations. */
struct journal_mark {
	u32 ops;
	u32 mark;
};

/* A page or a block that reads right a few times more, and wrong ever after,
 * until it is erased. */
struct journal_unstable {
	bool on;
	bool block;	/* all pages of the block; false: one page */
	u32 first;	/* the page, or the block's first */
	u32 reads_left; /* that are still right */
	u64 seed;
};

/* Of struct chip_params. */
struct journal_times {
	u32 t_r_ns, t_prog_ns, t_bers_ns, t_rc_ns, t_wc_ns;
};

struct journal {
	struct chip *chip;
	struct journal_times times; /* of the chip, when it does not check */
	u8 *memory;
	u64 bytes;
	enum journal_mode mode;

	/* Bytes in use from the start, marks included; entries in use from the
	 * end. */
	u64 used;
	u32 entries;

	/* Entries of the recording; those after them are of the check. */
	u32 recorded;
	u64 recorded_used;

	/* Entries that can still be read though journal_back() has undone some
	 * of them. */
	u32 known;

	/* The recorded operations that the chip has in it: a prefix. */
	u32 at;

	u32 marks;

	/* Operations or marks that found no room: the journal is then of no
	 * use. */
	u64 lost;

	struct journal_unstable unstable;
};

/* Watch a chip with this memory; at most one chip is watched at a time.
 * -ENOSPC: too little memory. */
int journal_open(struct journal *journal, struct chip *chip, void *memory,
		 u64 bytes);
void journal_close(struct journal *journal);

/* Record from the present state on. If something is recorded, first undo all of
 * it. 0, or -ENOSPC: something had found no room, so nothing can be undone. */
int journal_record(struct journal *journal);

/* Stop recording: what follows is of a check. -EINVAL: it does not record. */
int journal_stop(struct journal *journal);

/* Note a mark in the recording. -EINVAL: it does not record; -ENOSPC. */
int journal_mark(struct journal *journal, u32 mark);

/* Undo what checks did, and bring the chip to the state after the first
 * operations of the recording. -EINVAL: nothing recorded or no such number. */
int journal_goto(struct journal *journal, u32 operations);

/* Undo what checks did but for their first operations. -EINVAL: they did not do
 * as many. */
int journal_back(struct journal *journal, u32 operations);

/* The recorded operation after the present prefix, or the check's operation
 * after those that journal_back() left, which is only known until the next one
 * is made. NULL: there is none. */
const struct journal_entry *journal_next(const struct journal *journal,
					 bool of_check);

/* A recorded operation, from 0; NULL: there is none. */
const struct journal_entry *journal_entry(const struct journal *journal,
					  u32 index);

/* CRC-32 of all that operations move in the chip: cells, spare area included,
 * states of pages, what is kept of blocks, counts. Equal chips have equal ones.
 */
u32 journal_chip_crc(const struct journal *journal);

/* A torn operation is an entry of the check: begin it, change the chip, end it.
 * False: no room. */
bool journal_begin(struct journal *journal, u32 first, u32 pages);
void journal_end(struct journal *journal, enum journal_kind kind);

/* The cells of the page of a program as it left them, and its state. NULL: it
 * left the page erased. */
const u8 *journal_after(const struct journal *journal,
			const struct journal_entry *entry, u16 *state);

#endif
