/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The operation log: one record for each array operation, in memory that is
 * allocated before it starts. Records that find no room are counted as lost.
 *
 * The file "log" is a struct oplog_header and then its records, both in the
 * machine's byte order; src/nandlab/flash/chip/oplog.py reads it. Costs nothing
 * while stopped.
 */
#ifndef SIMNAND_OPLOG_H
#define SIMNAND_OPLOG_H

#include "shim.h"

#define OPLOG_MAGIC   0x474f4c4e /* "NLOG" */
#define OPLOG_VERSION 1

/* The numbers are part of the file's format. */
enum oplog_kind {
	OPLOG_READ = 1,
	OPLOG_OOB_READ = 2,
	OPLOG_HIT = 3,
	OPLOG_PROGRAM = 4,
	OPLOG_OOB_PROGRAM = 5,
	OPLOG_ERASE = 6,
};

/* Bits of oplog_record.flags. */
enum {
	OPLOG_FAILED = 1,  /* the status said so */
	OPLOG_ILLEGAL = 2, /* the data sheet forbids it */
	OPLOG_RAW = 4,	   /* moved past the ECC engine */
	OPLOG_CUT = 8,	   /* power was cut meanwhile */
};

struct oplog_record {
	u64 time_ns;  /* clock when the array operation starts */
	u64 op;	      /* number of the program or erase; 0 for a read */
	u32 page;     /* page of the chip; an erase has its block's first */
	u32 bytes;    /* page bytes that crossed the bus for it */
	u32 array_ns; /* tR, tPROG or tBERS; 0 for a hit */
	u16 phase;    /* phases opened so far; 0 before the first */
	u8 kind;      /* enum oplog_kind */
	u8 flags;
};

struct oplog_header {
	u32 magic;
	u16 version;
	u16 record_bytes;
	u64 records; /* records that follow */
	u64 lost;    /* records that found no room */
	u64 reserved;
};

/* The decoder has the same sizes. */
_Static_assert(sizeof(struct oplog_record) == 32, "log record layout");
_Static_assert(sizeof(struct oplog_header) == 32, "log header layout");

struct oplog {
	struct oplog_record *record; /* NULL: no log */
	u64 room;
	u64 count;
	u64 lost;
	bool on;
};

/* Allocate room for this many records. 0 or -ENOMEM. */
int oplog_init(struct oplog *log, u64 entries);
void oplog_exit(struct oplog *log);
void oplog_clear(struct oplog *log);

/* The next record, zeroed. NULL: the log is stopped, or full (counted as
 * lost). */
struct oplog_record *oplog_next(struct oplog *log);

#endif
