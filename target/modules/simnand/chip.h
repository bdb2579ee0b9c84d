/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A raw NAND chip, seen from its pins: command, address and data cycles go in,
 * data and a status come out. It keeps the array and the state of each page,
 * adds up the time that a real chip would have taken, and counts.
 *
 * It never waits, prints or locks: the caller waits for chip_take_ns(), is
 * told of trouble through a callback, and calls from one thread at a time.
 */
#ifndef SIMNAND_CHIP_H
#define SIMNAND_CHIP_H

#include "shim.h"

#define CHIP_ID_MAX  8
#define CHIP_NOP_MAX 127

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

	/* True where a page must not be programmed after a later page of its
	 * block has been. */
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
};

/* What was done since chip_init() or chip_reset_counts(). */
struct chip_counts {
	/* Array reads, programs and erases, each time tR, tPROG or tBERS was
	 * paid. Those that moved bytes of the spare area alone are not here
	 * but in oob_reads and oob_programs. */
	u64 reads;
	u64 programs;
	u64 erases;
	u64 oob_reads;
	u64 oob_programs;

	/* Those of programs that loaded fewer than writesize data bytes. */
	u64 subpage_programs;

	/* Operations that no data sheet allows: see enum chip_trouble. */
	u64 illegal;

	/* Page bytes, data and spare, that crossed the bus. */
	u64 bytes_read;
	u64 bytes_written;
};

/* An erase block: its own counts, and what its pages hold now. */
struct chip_block {
	u32 reads;
	u32 programs;
	u32 erases;
	u32 oob_reads;
	u32 oob_programs;

	/* Pages that hold data; a page with only its spare area programmed is
	 * not one of them. */
	u32 data_pages;

	/* Pages up to and including the last one programmed, 0 if erased. */
	u32 high;

	/* The block's pages where the array is allocated block by block; NULL
	 * until the first program. */
	u8 *mem;
};

/* What the chip reports. All but the last are counted as illegal. */
enum chip_trouble {
	CHIP_TOO_MANY_PROGRAMS, /* more than nop programs since the erase */
	CHIP_OUT_OF_ORDER,	/* a later page of the block is programmed */
	CHIP_OUT_OF_RANGE,	/* no such page, or a command cut short */
	CHIP_NO_MEMORY,		/* ours, not the chip's: the program fails */
};

typedef void (*chip_report_fn)(void *context, enum chip_trouble trouble,
			       u32 block, u32 page);

/* Where the data that the chip puts on the bus come from. */
enum chip_output {
	CHIP_OUT_ZERO, /* nothing to say: zeros, "no ONFI here" among them */
	CHIP_OUT_ID,
	CHIP_OUT_STATUS,
	CHIP_OUT_PAGE,
};

/* How an array read is counted, decided by the bytes it goes on to move. */
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

	/* The cells: one piece of memory that the caller owns, or NULL and
	 * then each block's own. */
	u8 *array;

	/* A byte per page: programs since the erase, and CHIP_HAS_DATA. */
	u8 *state;
	struct chip_block *block;
	struct chip_counts counts;

	/* The page register, and what the present command has done so far. */
	u8 *reg;
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

	/* Time since the last chip_take_ns(). */
	u64 elapsed_ns;
};

/* NULL if a chip can be made so, else the sentence that says why not. */
const char *chip_check(const struct chip_params *params);

/* Size of the array of such a chip, spare areas included. */
u64 chip_array_bytes(const struct chip_params *params);

/* An erased chip. array: memory of chip_array_bytes(), or NULL to allocate it
 * as blocks are first programmed. 0 or -ENOMEM. */
int chip_init(struct chip *chip, const struct chip_params *params, void *array,
	      chip_report_fn report, void *context);
void chip_exit(struct chip *chip);

/* The bus. force_8bit: one byte a cycle on a 16-bit bus too (ID, status). */
void chip_command(struct chip *chip, u8 opcode);
void chip_address(struct chip *chip, const u8 *cycles, unsigned int count);
void chip_data_out(struct chip *chip, u8 *to, u32 bytes, bool force_8bit);
void chip_data_in(struct chip *chip, const u8 *from, u32 bytes,
		  bool force_8bit);

/* The time that the bus and the array took since the last call. */
u64 chip_take_ns(struct chip *chip);

/* For tests and reports: no cycle on the bus, no time, no count. */
void chip_reset_counts(struct chip *chip);
u64 chip_data_pages(const struct chip *chip, u32 blocks);

#endif
