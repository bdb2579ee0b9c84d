/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a chip counts, named once: the fields, the lines of the file
 * "counters" and the figures of a phase all come from CHIP_COUNTS.
 *
 * An array operation is counted when its tR, tPROG or tBERS is spent. Those
 * that move at least one data byte are in reads and programs; those that move
 * spare bytes alone are in oob_reads and oob_programs instead. These four
 * include subpage_programs, raw_reads and raw_programs.
 */
#ifndef SIMNAND_COUNTS_H
#define SIMNAND_COUNTS_H

#include "shim.h"

/* clang-format off */
#define CHIP_COUNTS(X)                                                         \
	X(reads)            /* array reads (tR) */                             \
	X(programs)         /* page programs (tPROG) */                        \
	X(erases)           /* block erases (tBERS) */                         \
	X(oob_reads)        /* array reads for spare bytes alone */            \
	X(oob_programs)     /* programs of spare bytes alone */                \
	X(subpage_programs) /* programs of less than writesize data bytes */   \
	X(raw_reads)        /* array reads past the ECC engine */              \
	X(raw_programs)     /* programs past the ECC engine */                 \
	X(buffer_hits)      /* reads that the register answered without tR */  \
	X(illegal)          /* sum of the four below */                        \
	X(illegal_nop)      /* more than nop programs of a page */             \
	X(illegal_order)    /* programs out of order within a block */         \
	X(illegal_erased)   /* programs that tried to set a bit that is 0 */   \
	X(illegal_range)    /* no such page, or a command cut short */         \
	X(bytes_read)       /* page bytes, data and spare, out of the chip */  \
	X(bytes_written)    /* page bytes into it */                           \
	X(busy_ns)          /* time of bus and array */                        \
	X(energy_nj)        /* energy of the array's operations */             \
	X(program_fails)    /* programs that failed in their status */         \
	X(erase_fails)      /* erases that failed in their status */           \
	X(flipped_bits)     /* wrong bits in pages that were read */           \
	X(ecc_corrected)    /* bits that the ECC engine corrected */           \
	X(ecc_failed)       /* ECC steps that it could not correct */          \
	X(ecc_failed_pages) /* page reads with such a step */                  \
	X(power_cuts)       /* times that power was cut */
/* clang-format on */

struct chip_counts {
#define CHIP_COUNT_FIELD(name) u64 name;
	CHIP_COUNTS(CHIP_COUNT_FIELD)
#undef CHIP_COUNT_FIELD
};

#define CHIP_COUNT_KINDS (sizeof(struct chip_counts) / sizeof(u64))

/* The names of the fields, in order. */
extern const char *const chip_count_names[CHIP_COUNT_KINDS];

/* The count that chip_count_names[kind] names. */
static inline u64 chip_count_at(const struct chip_counts *counts,
				unsigned int kind)
{
	return ((const u64 *)counts)[kind];
}

#define PHASE_NAME_MAX 32
#define PHASES_MAX     64

/* A stretch of time that user space has named, and what was done in it. */
struct phase {
	char name[PHASE_NAME_MAX];
	u64 start_ns;
	u64 end_ns; /* meaningless while the phase is open */
	struct chip_counts counts;
};

/* Phases in the order of their opening; at most one, the last, is open. */
struct phases {
	struct phase phase[PHASES_MAX];
	unsigned int count;
	bool open;

	/* The chip's counts as they were last added to the open phase. */
	struct chip_counts base;
};

/* Close the open phase, if any, and open another unless name is empty. clock_ns
 * is the caller's clock. -ENOSPC after PHASES_MAX phases: none is open then. */
int phases_mark(struct phases *phases, const struct chip_counts *now,
		const char *name, u64 clock_ns);

/* Bring the open phase up to date. Call it before its counts are shown. */
void phases_update(struct phases *phases, const struct chip_counts *now);

/* Call it before the chip's counts are zeroed: phases keep what they have. */
void phases_rebase(struct phases *phases, const struct chip_counts *now);

#endif
