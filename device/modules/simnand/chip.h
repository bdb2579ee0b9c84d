/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A raw NAND chip, seen from its pins: command, address and data cycles go in,
 * data and a status come out. It keeps the array and the state of each page,
 * adds up the time that a real chip would have taken, counts its operations,
 * and fails when it is told to (faults.h).
 *
 * It never waits, prints or locks. The caller waits as long as chip_take_ns()
 * says, learns of trouble through a callback, and calls from one thread at a
 * time.
 *
 * Every program and erase that the chip accepts has a number, from 1
 * (chip.op_seq). All cells are accessed through cells_of() and page_content()
 * of array.c: another store, such as an overlay over a base image, changes
 * nothing else. A log that keeps the data of operations belongs in
 * chip_op_begin() alone.
 */
#ifndef SIMNAND_CHIP_H
#define SIMNAND_CHIP_H

#include "counts.h"
#include "faults.h"
#include "oplog.h"
#include "shim.h"

#define CHIP_ID_MAX	8
#define CHIP_NOP_MAX	127
#define CHIP_NO_PAGE	(~0u)
#define FEATURE_BYTES	4
#define CHIP_JITTER_MAX 400000

/* What a data sheet says of a chip. Set once, before chip_init(). */
struct chip_params {
	/* Data bytes in a page, a power of two from 512 to 16384. 512 selects
	 * the small-page command set. */
	unsigned int writesize;

	/* Spare bytes of a page. */
	unsigned int oobsize;

	/* Data bytes in an erase block, a power of two, at least two pages. */
	unsigned int erasesize;

	/* Erase blocks of the chip, a power of two. */
	unsigned int blocks;

	/* Width of the bus in bits: 8 or 16. A 16-bit bus moves two bytes of
	 * a page in a cycle. */
	unsigned int bus_bits;

	/* Programs allowed on a page between two erases (NOP), 1 to 127. */
	unsigned int nop;

	/* True if a page must not be programmed after a later page of its
	 * block. */
	bool in_order;

	/* Bytes that READ ID answers; zeros follow them. */
	u8 id[CHIP_ID_MAX];

	/* How many bytes of id are set, 2 to 8. */
	unsigned int id_len;

	/* Array read (tR) in ns: from the last cycle of a read command until
	 * the page is in the chip's register. */
	unsigned int t_r_ns;

	/* Page program (tPROG) in ns; a partial program takes as long. */
	unsigned int t_prog_ns;

	/* Block erase (tBERS) in ns. */
	unsigned int t_bers_ns;

	/* One data cycle out of the chip (tRC) in ns. */
	unsigned int t_rc_ns;

	/* One command, address or data cycle into the chip (tWC) in ns. */
	unsigned int t_wc_ns;

	/* Energy of an array read, a program and an erase in nJ; -1 if the data
	 * sheet does not give it. */
	int e_read_nj;
	int e_prog_nj;
	int e_erase_nj;

	/* True: a page that an earlier read left in the register is read again
	 * without tR. */
	bool register_hits;

	/* True: an illegal program fails in its status and changes nothing;
	 * false: it is carried out, as a real chip does. It is counted either
	 * way. */
	bool strict;

	/* Pages of a block that carry the maker's bad block marker: bit 0 the
	 * first, bit 1 the second, bit 2 the last. 0: first and second. */
	unsigned int bad_mark_pages;

	/* The faults to inject; all zero: none. */
	struct fault_params faults;

	/* Jitter: how far tR, tPROG and tBERS of an operation may differ from
	 * the above, plus or minus, in millionths, 0 to 400000. Drawn uniformly
	 * for each operation. 0: none. The controller makes the bus cycles, so
	 * these do not vary. */
	unsigned int jitter_ppm;

	/* Seed of the jitter: the same seed and operations give the same
	 * times. */
	unsigned long long jitter_seed;
};

/* The chip's own record of a block, kept in images. */
enum {
	CHIP_FACTORY_BAD = 1, /* marked bad by the maker */
	CHIP_WORN_OUT = 2,    /* failed once, and fails ever since */
};

/* An erase block: its own counts, and what its pages hold now. */
struct chip_block {
	/* This block's share of the counts in counts.h. */
	u32 reads;
	u32 programs;
	u32 erases;
	u32 oob_reads;
	u32 oob_programs;
	u32 subpage_programs;
	u32 raw_reads;
	u32 raw_programs;
	u32 buffer_hits;

	/* Erases since manufacture; no reset clears it. */
	u32 wear;

	/* Array reads of any of its pages since its last erase. */
	u32 disturb;

	/* CHIP_FACTORY_BAD, CHIP_WORN_OUT. */
	u32 flags;

	/* Pages that hold data; a page with only its spare area programmed does
	 * not count. */
	u32 data_pages;

	/* Pages up to and including the last one programmed, 0 if erased. */
	u32 high;

	/* The block's cells if the array is allocated block by block; NULL
	 * until the first program. */
	u8 *mem;
};

/* A page's state: its programs since the erase in the low bits, and flags. */
enum {
	PAGE_PROGRAMS = 0x7f,
	PAGE_HAS_DATA = 0x80,
	PAGE_GARBLED = 0x100, /* torn or overwritten: no ECC can correct it */
};

/* What the chip reports. Those up to CHIP_OUT_OF_RANGE count as illegal. */
enum chip_trouble {
	CHIP_TOO_MANY_PROGRAMS, /* more than nop programs since the erase */
	CHIP_OUT_OF_ORDER,	/* a later page of the block is programmed */
	CHIP_NOT_ERASED,	/* a program tries to set bits that are 0 */
	CHIP_OUT_OF_RANGE,	/* no such page, or a command cut short */
	CHIP_NO_MEMORY,		/* the simulator's trouble: the program fails */
	CHIP_PROGRAM_FAILED,	/* an injected fault */
	CHIP_ERASE_FAILED,	/* likewise */
	CHIP_POWER_CUT,		/* likewise */
};

typedef void (*chip_report_fn)(void *context, enum chip_trouble trouble,
			       u32 block, u32 page);

/* Where the data that the chip puts on the bus come from. */
enum chip_output {
	CHIP_OUT_ZERO, /* no data: zeros, also as the ONFI signature */
	CHIP_OUT_ID,
	CHIP_OUT_STATUS,
	CHIP_OUT_PAGE,
	CHIP_OUT_FEATURE,
};

/* How an array read is counted: the bytes that are then moved decide. */
enum chip_read_kind { CHIP_READ_NONE, CHIP_READ_PAGE, CHIP_READ_OOB };

struct chip {
	struct chip_params params;
	chip_report_fn report;
	void *context;

	/* Derived from params. */
	u32 pages_per_block;
	u32 pages;
	u32 page_bytes;
	unsigned int row_cycles;
	unsigned int column_cycles;

	/* The cells of pages below array_pages: one piece of memory that the
	 * caller owns, or NULL. Cells that are not there are in each block's
	 * mem. */
	u8 *array;
	u32 array_pages;

	/* For each page, PAGE_PROGRAMS and flags. */
	u16 *state;

	/* For each page the chip's day at its first program since the erase;
	 * NULL: days make no bit wrong. An image keeps none: its pages are as
	 * new. */
	u32 *born;

	/* Days that have passed since chip_init(), by faults_age(). */
	u32 days;
	struct chip_block *block;
	struct chip_counts counts;
	struct phases phases;
	struct oplog log;
	struct faults faults;

	/* Number of the last program or erase since manufacture. */
	u64 op_seq;

	/* False: power is cut, and the chip does not answer. */
	bool powered;

	/* What the controller shall return: 0; -EIO without power; -EOPNOTSUPP
	 * after a command that the chip does not know, until
	 * chip_error_told(). */
	int error;

	/* The caller's clock when the current operation began, for the log. */
	u64 clock_ns;

	/* The page register; the page that a read brought into it, or
	 * CHIP_NO_PAGE; and its wrong bits. */
	u8 *reg;
	u32 reg_row;

	/* Bytes from the register's first on that hold what they should; all
	 * others are to be 0xff. */
	u32 reg_filled;
	struct flips flips;

	/* What SET FEATURES has set since power came, by the feature's number;
	 * all are 0 then: no block is protected, nothing is randomized. A
	 * feature is told back, and has no other effect. */
	u8 feature[256][FEATURE_BYTES];

	/* What the current command has done so far. */
	u8 command;
	u8 addr[CHIP_ID_MAX];
	unsigned int addr_count;
	u32 column;
	u32 row;
	u32 area; /* first column of the half or spare area, small pages */
	u8 status;
	enum chip_output output;
	u32 out_pos;
	bool loading; /* SEQIN has been given its address */
	u32 data_loaded;
	u32 oob_loaded;
	enum chip_read_kind read_kind;
	bool data_moved;
	bool scanning; /* nobody uses the chip yet: reads disturb nothing */
	bool raw;      /* the caller moves pages without its ECC engine */

	/* Log records of the operation that the bytes now moving belong to, and
	 * of the array read that filled the register; NULL: not logged. */
	struct oplog_record *moving;
	struct oplog_record *reading;

	/* Time since the last chip_take_ns(). */
	u64 elapsed_ns;

	/* Array operations that have had a jitter; numbers the draws. */
	u64 jittered;
};

/* NULL if such a chip can be made, else a sentence that says why not. */
const char *chip_check(const struct chip_params *params);

/* Size of the array of such a chip, spare areas included. */
u64 chip_array_bytes(const struct chip_params *params);

/* Make an erased chip. array: memory of chip_array_bytes() (or less: then lower
 * array_pages before use), or NULL to allocate each block at its first program.
 * 0 or -ENOMEM. */
int chip_init(struct chip *chip, const struct chip_params *params, void *array,
	      chip_report_fn report, void *context);
void chip_exit(struct chip *chip);

/* True if the chip knows this command. */
bool chip_knows(u8 opcode);

/* The bus. force_8bit: one byte a cycle on a 16-bit bus too (ID, status). A
 * chip without power ignores all of it and drives no line: reads give 0xff. */
void chip_command(struct chip *chip, u8 opcode);
void chip_address(struct chip *chip, const u8 *cycles, unsigned int count);
void chip_data_out(struct chip *chip, u8 *to, u32 bytes, bool force_8bit);
void chip_data_in(struct chip *chip, const u8 *from, u32 bytes,
		  bool force_8bit);

/* The error has been returned: a chip with power answers the next command. */
static inline void chip_error_told(struct chip *chip)
{
	chip->error = chip->powered ? 0 : -EIO;
}

/* The time that the bus and the array took since the last call. */
u64 chip_take_ns(struct chip *chip);

/* Cut power (the register loses its content) or restore it. */
void chip_power(struct chip *chip, bool on);

/* For tests and reports: these take no bus cycle and no time, and count
 * nothing. */
void chip_reset_counts(struct chip *chip);
void chip_log_clear(struct chip *chip);
u64 chip_data_pages(const struct chip *chip, u32 blocks);

/* Of the first blocks of the chip, those that are good and in which no page is
 * programmed, not even its spare area. */
u32 chip_erased_blocks(const struct chip *chip, u32 blocks);

#endif
