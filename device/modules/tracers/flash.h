/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flashmon sees pages where the NAND core asks the chip's driver for them: it
 * hooks the callbacks of struct nand_ecc_ctrl, and likewise those of the MTD
 * device. That needs no probe, costs a call, and counts pages whatever driver
 * is below and whatever file system is above. Erases are seen by a probe on
 * nand_erase_op(), which every erase of the NAND core goes through.
 */
#ifndef TRACERS_FLASH_H
#define TRACERS_FLASH_H

#include <linux/mtd/mtd.h>
#include <linux/mtd/rawnand.h>
#include <linux/sched.h>

#include "probes.h"
#include "tracers.h"

#define FLASH_CHIPS_MAX 4
#define FLASH_CALLS_MAX 16
#define FLASH_PARTS_MAX 32

/* Operations on a block since the last reset. */
struct flash_block {
	u32 reads; /* of data pages */
	u32 programs;
	u32 erases;
	u32 oob_reads; /* of spare bytes alone */
	u32 oob_programs;
	atomic_t hits; /* pages that the read buffer had */
};

/* A read of MTD that is under way. The NAND core reads its pages in order and
 * asks the driver only for those that its buffer does not have: a skipped page
 * was a hit. */
struct flash_call {
	struct task_struct *task; /* NULL: free */
	u64 next;		  /* the next page to read */
	u64 now_ns; /* the last time read from the clock; 0: none */
};

/* A range of pages around one, all in the same device: no device begins or ends
 * within it. */
struct flash_near {
	u64 first_page;
	u64 end_page;
	u16 device;
};

struct flash_chip {
	struct mtd_info *mtd; /* the master; NULL: free */
	struct nand_chip *nand;
	unsigned int devices; /* its registered MTD devices */
	bool hooked;
	bool stays;	/* stopped, but hooked: others hooked on top of us */
	u64 first_page; /* the filter: pages from here */
	u64 end_page;	/* up to here */

	/* The callbacks that the hooks replace. */
	struct nand_ecc_ctrl ecc;
	int (*read)(struct mtd_info *mtd, loff_t from, struct mtd_oob_ops *ops);
	int (*write)(struct mtd_info *mtd, loff_t to, struct mtd_oob_ops *ops);
	int (*erase)(struct mtd_info *mtd, struct erase_info *info);

	struct flash_near near; /* around the last page; controller's lock */
	unsigned int nested; /* callbacks inside callbacks; controller's lock */
	atomic_t inside;     /* MTD calls under way */
	struct flash_call calls[FLASH_CALLS_MAX];
	u32 blocks;
	struct flash_block *block;
};

/* An MTD device, the whole chip or a partition, as pages of its chip. */
struct flash_device {
	struct flash_chip *chip; /* NULL: free */
	int number;
	const char *name;
	u64 first_page;
	u64 end_page;
};

extern struct monitor flashmon;
extern struct flash_chip flash_chips[FLASH_CHIPS_MAX];
extern struct flash_device flash_devices[FLASH_PARTS_MAX];
extern unsigned int flash_devices_end; /* all from here on are free */
extern struct mutex flash_lock;	       /* guards chips, devices and hooks */
extern bool flash_log_hits, flash_log_calls;
extern struct probe flash_erase_probe;

/* The number of the device that a page is in. */
u16 flash_device_of(const struct flash_chip *chip, u64 page);
void flash_find_near(struct flash_chip *chip, u64 page);

/* The same, faster, with the controller's lock held: most pages are near the
 * last. */
static inline u16 flash_device_near(struct flash_chip *chip, u64 page)
{
	if (unlikely(page < chip->near.first_page ||
		     page >= chip->near.end_page))
		flash_find_near(chip, page);
	return chip->near.device;
}

/* An operation of the chip, from its callback's beginning to its end. */
struct page_op {
	struct flash_chip *chip;
	u64 page;
	bool wanted;
	struct flash_call *call; /* MTD read that it serves; NULL: none */
	struct trace_record record;
};

/* The operation ended: fill in its page and device, and write the record. The
 * caller has filled in the rest. */
static inline void flash_write(struct page_op *op, u16 device, u64 end_ns)
{
	op->record.object = op->page;
	op->record.device = device;
	record_write(&op->record, end_ns);
}

/* The read of MTD that the running task is in; NULL: none. */
static inline struct flash_call *flash_call_of(struct flash_chip *chip)
{
	unsigned int i;

	for (i = 0; i < FLASH_CALLS_MAX; i++)
		if (READ_ONCE(chip->calls[i].task) == current)
			return &chip->calls[i];
	return NULL;
}

/* The read buffer had the pages from call->next to end: count and record
 * hits. */
void flash_hits(struct flash_chip *chip, struct flash_call *call, u64 end);

/* Hooks of a chip: on the callbacks for its pages, and on the calls of MTD. */
void flash_hook_pages(struct flash_chip *chip);
void flash_unhook_pages(struct flash_chip *chip);
/* Whether the callbacks still point to our hooks. */
bool flash_pages_are_ours(const struct flash_chip *chip);
bool flash_calls_are_ours(const struct flash_chip *chip);
void flash_hook_calls(struct flash_chip *chip);
/* Also waits until the last call that went through them has ended. */
void flash_unhook_calls(struct flash_chip *chip);

static inline struct flash_chip *flash_chip_of(const struct nand_chip *nand)
{
	unsigned int i;

	for (i = 0; i < FLASH_CHIPS_MAX - 1; i++)
		if (flash_chips[i].nand == nand)
			break;
	return &flash_chips[i];
}

static inline struct flash_block *flash_block_of(struct flash_chip *chip,
						 u64 page)
{
	return &chip->block[page >> (chip->nand->phys_erase_shift -
				     chip->nand->page_shift)];
}

static inline bool flash_wants(const struct flash_chip *chip, u64 page)
{
	return page >= chip->first_page && page < chip->end_page &&
	       monitor_wants(&flashmon);
}

int flash_blocks_init(void);
void flash_blocks_exit(void);
void flash_blocks_reset(struct flash_chip *chip);
void flash_blocks_status(struct seq_file *file, const struct flash_chip *chip);

#endif
