// SPDX-License-Identifier: GPL-2.0-or-later
/* The hooks on calls of MTD, and the pages that its read buffer answered: see
 * flash.h. */
#include <linux/rcupdate.h>
#include <linux/sched.h>

#include "compat.h"
#include "flash.h"

/* That they were hits is known only now, so their time is the call's last known
 * one, which saves reading the clock. */
void flash_hits(struct flash_chip *chip, struct flash_call *call, u64 end)
{
	struct page_op op = {.chip = chip};

	for (op.page = call->next; op.page < end; op.page++) {
		if (!flash_wants(chip, op.page))
			continue;
		atomic_inc(&flash_block_of(chip, op.page)->hits);
		if (!flash_log_hits)
			continue;
		if (!call->now_ns)
			call->now_ns = tracers_clock();
		op.record = (struct trace_record){
			.seq = atomic64_inc_return(&tracers_seq),
			.start_ns = call->now_ns,
			.type = TRACE_FLASH_HIT,
			.offset = op.page << chip->nand->page_shift,
			.size = chip->mtd->writesize,
		};
		flash_write(&op, flash_device_of(chip, op.page), call->now_ns);
	}
	call->next = end;
}

static struct flash_chip *chip_of_mtd(const struct mtd_info *mtd)
{
	unsigned int i;

	for (i = 0; i < FLASH_CHIPS_MAX - 1; i++)
		if (flash_chips[i].mtd == mtd)
			break;
	return &flash_chips[i];
}

/* A call of MTD. Its record has the number of bytes asked for. */
static void mtd_begin(struct page_op *op, struct mtd_info *mtd, loff_t at)
{
	op->chip = chip_of_mtd(mtd);
	atomic_inc(&op->chip->inside);
	op->page = at >> op->chip->nand->page_shift;
	op->wanted = flash_log_calls && flash_wants(op->chip, op->page);
	if (op->wanted)
		record_open(&op->record);
}

static void mtd_end(struct page_op *op, u8 type, loff_t at, size_t bytes,
		    int result, const struct mtd_oob_ops *ops)
{
	if (op->wanted) {
		u64 end_ns = tracers_clock();

		op->record = (struct trace_record){
			.seq = op->record.seq,
			.start_ns = op->record.start_ns,
			.type = type,
			.offset = at,
			.size = min_t(size_t, bytes, U32_MAX),
			.result = result,
		};
		if (ops) {
			op->record.extra = ops->oobbuf ? ops->ooblen : 0;
			op->record.flags =
				(ops->datbuf ? 0 : TRACE_OOB) |
				(ops->mode == MTD_OPS_RAW ? TRACE_RAW : 0);
		}
		flash_write(op, flash_device_of(op->chip, op->page), end_ns);
	}
	atomic_dec(&op->chip->inside);
}

static struct flash_call *call_begin(struct flash_chip *chip, u64 page,
				     u64 start_ns)
{
	unsigned int i;

	for (i = 0; i < FLASH_CALLS_MAX; i++) {
		if (cmpxchg(&chip->calls[i].task, NULL, current))
			continue;
		chip->calls[i].next = page;
		chip->calls[i].now_ns = start_ns;
		return &chip->calls[i];
	}
	return NULL;
}

static int hook_mtd_read(struct mtd_info *mtd, loff_t from,
			 struct mtd_oob_ops *ops)
{
	struct flash_call *call = NULL;
	struct page_op op;
	u64 end;
	int result;

	mtd_begin(&op, mtd, from);
	if (ops->datbuf && READ_ONCE(flashmon.recording))
		call = call_begin(op.chip, op.page,
				  op.wanted ? op.record.start_ns : 0);
	result = op.chip->read(mtd, from, ops);
	if (call) {
		end = (from + ops->retlen + mtd->writesize - 1) >>
		      op.chip->nand->page_shift;
		if (ops->retlen && call->next < end)
			flash_hits(op.chip, call, end);
		smp_store_release(&call->task, NULL);
	}
	mtd_end(&op, TRACE_MTD_READ, from, ops->datbuf ? ops->len : 0,
		result < 0 ? result : (int)ops->retlen, ops);
	return result;
}

static int hook_mtd_write(struct mtd_info *mtd, loff_t to,
			  struct mtd_oob_ops *ops)
{
	struct page_op op;
	int result;

	mtd_begin(&op, mtd, to);
	result = op.chip->write(mtd, to, ops);
	mtd_end(&op, TRACE_MTD_WRITE, to, ops->datbuf ? ops->len : 0,
		result < 0 ? result : (int)ops->retlen, ops);
	return result;
}

static int hook_mtd_erase(struct mtd_info *mtd, struct erase_info *info)
{
	struct page_op op;
	u64 at = info->addr, bytes = info->len;
	int result;

	mtd_begin(&op, mtd, at);
	result = op.chip->erase(mtd, info);
	mtd_end(&op, TRACE_MTD_ERASE, at, bytes, result, NULL);
	return result;
}

void flash_hook_calls(struct flash_chip *chip)
{
	chip->read = chip->mtd->_read_oob;
	chip->write = chip->mtd->_write_oob;
	chip->erase = chip->mtd->_erase;
	smp_wmb();
	WRITE_ONCE(chip->mtd->_read_oob, hook_mtd_read);
	WRITE_ONCE(chip->mtd->_write_oob, hook_mtd_write);
	WRITE_ONCE(chip->mtd->_erase, hook_mtd_erase);
}

bool flash_calls_are_ours(const struct flash_chip *chip)
{
	return chip->mtd->_read_oob == hook_mtd_read &&
	       chip->mtd->_write_oob == hook_mtd_write &&
	       chip->mtd->_erase == hook_mtd_erase;
}

/*
 * MTD's callbacks run under no lock that we could wait for. First wait until
 * all tasks that fetched our pointer have counted themselves as inside, then
 * until all of these have left, then for the last instructions after that.
 */
static void wait_for_calls(struct flash_chip *chip)
{
	synchronize_rcu_tasks();
	while (atomic_read(&chip->inside))
		schedule_timeout_uninterruptible(1);
	synchronize_rcu_tasks();
}

void flash_unhook_calls(struct flash_chip *chip)
{
	WRITE_ONCE(chip->mtd->_read_oob, chip->read);
	WRITE_ONCE(chip->mtd->_write_oob, chip->write);
	WRITE_ONCE(chip->mtd->_erase, chip->erase);
	wait_for_calls(chip);
}
