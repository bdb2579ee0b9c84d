// SPDX-License-Identifier: GPL-2.0-or-later
/* The hooks of a chip: see flash.h. */
#include <linux/rcupdate.h>
#include <linux/sched.h>

#include "compat.h"
#include "flash.h"

/* An operation of the chip, from its callback's beginning to its end. */
struct page_op {
	struct flash_chip *chip;
	struct span span;
	u64 page;
	bool wanted;
	struct flash_call *call; /* of MTD that it serves; NULL: none */
};

/* Drivers number pages within a die. */
static u64 chip_page(const struct nand_chip *nand, u64 page)
{
	u64 die = max(nand->cur_cs, 0);

	return page + die * ((u64)nand->pagemask + 1);
}

static struct slot *write_record(struct slot *slot, const struct page_op *op,
				 u8 type, u64 end_ns, u32 bytes)
{
	if (!record_begin(slot, &op->span, type, end_ns))
		return NULL;
	slot->record->object = op->page;
	slot->record->offset = op->page << op->chip->nand->page_shift;
	slot->record->size = bytes;
	slot->record->device = flash_device_of(op->chip, op->page);
	return slot;
}

static struct flash_call *call_of(struct flash_chip *chip)
{
	unsigned int i;

	for (i = 0; i < FLASH_CALLS_MAX; i++)
		if (READ_ONCE(chip->calls[i].task) == current)
			return &chip->calls[i];
	return NULL;
}

/* The read buffer had the pages from the call's next on. It is known only now,
 * so their time is the call's last known one, which costs no clock. */
static void hits(struct flash_chip *chip, struct flash_call *call, u64 end)
{
	struct page_op op = {.chip = chip};
	struct slot slot;

	for (op.page = call->next; op.page < end; op.page++) {
		if (!flash_wants(chip, op.page))
			continue;
		atomic_inc(&flash_block_of(chip, op.page)->hits);
		if (!flash_log_hits)
			continue;
		if (!call->now_ns)
			call->now_ns = tracers_clock();
		op.span.seq = atomic64_inc_return(&tracers_seq);
		op.span.start_ns = call->now_ns;
		if (write_record(&slot, &op, TRACE_FLASH_HIT, call->now_ns,
				 chip->mtd->writesize))
			record_commit(&slot);
	}
	call->next = end;
}

/* A callback that another callback uses is no operation of its own. */
static void op_begin(struct page_op *op, struct nand_chip *nand, int page)
{
	op->call = NULL;
	op->chip = flash_chip_of(nand);
	op->page = chip_page(nand, page);
	op->wanted = !op->chip->nested++ && flash_wants(op->chip, op->page);
	if (op->wanted)
		span_open(&op->span);
}

static void op_begin_read(struct page_op *op, struct nand_chip *nand, int page)
{
	struct flash_chip *chip = flash_chip_of(nand);
	struct flash_call *call = chip->nested ? NULL : call_of(chip);

	if (call) {
		hits(chip, call, chip_page(nand, page));
		call->next = chip_page(nand, page) + 1;
	}
	op_begin(op, nand, page);
	op->call = call;
}

static void op_count(const struct page_op *op, u8 type, u8 flags)
{
	struct flash_block *block = flash_block_of(op->chip, op->page);

	if (type == TRACE_FLASH_READ)
		flags &TRACE_OOB ? block->oob_reads++ : block->reads++;
	else
		flags &TRACE_OOB ? block->oob_programs++ : block->programs++;
}

static void op_end(struct page_op *op, u8 type, u8 flags, u32 bytes, int result)
{
	struct slot slot;
	u64 end_ns;

	op->chip->nested--;
	if (!op->wanted)
		return;
	op_count(op, type, flags);
	end_ns = tracers_clock();
	if (op->call)
		op->call->now_ns = end_ns;
	if (!write_record(&slot, op, type, end_ns, bytes))
		return;
	slot.record->flags = flags;
	slot.record->result = result;
	record_commit(&slot);
}

static int hook_read_page(struct nand_chip *nand, u8 *buf, int oob, int page)
{
	struct page_op op;
	int result;

	op_begin_read(&op, nand, page);
	result = op.chip->ecc.read_page(nand, buf, oob, page);
	op_end(&op, TRACE_FLASH_READ, 0, op.chip->mtd->writesize, result);
	return result;
}

static int hook_read_page_raw(struct nand_chip *nand, u8 *buf, int oob,
			      int page)
{
	struct page_op op;
	int result;

	op_begin_read(&op, nand, page);
	result = op.chip->ecc.read_page_raw(nand, buf, oob, page);
	op_end(&op, TRACE_FLASH_READ, TRACE_RAW, op.chip->mtd->writesize,
	       result);
	return result;
}

static int hook_read_subpage(struct nand_chip *nand, u32 offset, u32 bytes,
			     u8 *buf, int page)
{
	struct page_op op;
	int result;

	op_begin_read(&op, nand, page);
	result = op.chip->ecc.read_subpage(nand, offset, bytes, buf, page);
	op_end(&op, TRACE_FLASH_READ, TRACE_SUBPAGE, bytes, result);
	return result;
}

static int hook_read_oob(struct nand_chip *nand, int page)
{
	struct page_op op;
	int result;

	op_begin(&op, nand, page);
	result = op.chip->ecc.read_oob(nand, page);
	op_end(&op, TRACE_FLASH_READ, TRACE_OOB, 0, result);
	return result;
}

static int hook_read_oob_raw(struct nand_chip *nand, int page)
{
	struct page_op op;
	int result;

	op_begin(&op, nand, page);
	result = op.chip->ecc.read_oob_raw(nand, page);
	op_end(&op, TRACE_FLASH_READ, TRACE_OOB | TRACE_RAW, 0, result);
	return result;
}

static int hook_write_page(struct nand_chip *nand, const u8 *buf, int oob,
			   int page)
{
	struct page_op op;
	int result;

	op_begin(&op, nand, page);
	result = op.chip->ecc.write_page(nand, buf, oob, page);
	op_end(&op, TRACE_FLASH_PROGRAM, 0, op.chip->mtd->writesize, result);
	return result;
}

static int hook_write_page_raw(struct nand_chip *nand, const u8 *buf, int oob,
			       int page)
{
	struct page_op op;
	int result;

	op_begin(&op, nand, page);
	result = op.chip->ecc.write_page_raw(nand, buf, oob, page);
	op_end(&op, TRACE_FLASH_PROGRAM, TRACE_RAW, op.chip->mtd->writesize,
	       result);
	return result;
}

static int hook_write_subpage(struct nand_chip *nand, u32 offset, u32 bytes,
			      const u8 *buf, int oob, int page)
{
	struct page_op op;
	int result;

	op_begin(&op, nand, page);
	result =
		op.chip->ecc.write_subpage(nand, offset, bytes, buf, oob, page);
	op_end(&op, TRACE_FLASH_PROGRAM, TRACE_SUBPAGE, bytes, result);
	return result;
}

static int hook_write_oob(struct nand_chip *nand, int page)
{
	struct page_op op;
	int result;

	op_begin(&op, nand, page);
	result = op.chip->ecc.write_oob(nand, page);
	op_end(&op, TRACE_FLASH_PROGRAM, TRACE_OOB, 0, result);
	return result;
}

static int hook_write_oob_raw(struct nand_chip *nand, int page)
{
	struct page_op op;
	int result;

	op_begin(&op, nand, page);
	result = op.chip->ecc.write_oob_raw(nand, page);
	op_end(&op, TRACE_FLASH_PROGRAM, TRACE_OOB | TRACE_RAW, 0, result);
	return result;
}

static bool erase_enter(struct probe *probe, const unsigned long *args,
			void *data)
{
	struct nand_chip *nand = (void *)args[0];
	unsigned int shift = nand->phys_erase_shift - nand->page_shift;
	struct page_op *op = data;

	op->chip = flash_chip_of(nand);
	op->page = chip_page(nand, (u64)(u32)args[1] << shift);
	if (op->chip->nand != nand || !flash_wants(op->chip, op->page))
		return false;
	span_open(&op->span);
	return true;
}

static void erase_leave(struct probe *probe, void *data, unsigned long result)
{
	struct page_op *op = data;
	const struct nand_chip *nand = op->chip->nand;
	struct slot slot;

	flash_block_of(op->chip, op->page)->erases++;
	if (!write_record(&slot, op, TRACE_FLASH_ERASE, tracers_clock(),
			  op->chip->mtd->erasesize))
		return;
	slot.record->result = result;
	slot.record->extra =
		op->page >> (nand->phys_erase_shift - nand->page_shift);
	record_commit(&slot);
}

struct probe flash_erase_probe = {
	.name = "nand_erase_op",
	.enter = erase_enter,
	.leave = erase_leave,
	.data_bytes = sizeof(struct page_op),
};

static struct flash_chip *chip_of_mtd(const struct mtd_info *mtd)
{
	unsigned int i;

	for (i = 0; i < FLASH_CHIPS_MAX - 1; i++)
		if (flash_chips[i].mtd == mtd)
			break;
	return &flash_chips[i];
}

/* A call of MTD: its record has the bytes asked for. */
static void mtd_begin(struct page_op *op, struct mtd_info *mtd, loff_t at)
{
	op->chip = chip_of_mtd(mtd);
	atomic_inc(&op->chip->inside);
	op->page = at >> op->chip->nand->page_shift;
	op->wanted = flash_log_calls && flash_wants(op->chip, op->page);
	if (op->wanted)
		span_open(&op->span);
}

static void mtd_end(struct page_op *op, u8 type, loff_t at, size_t bytes,
		    int result, const struct mtd_oob_ops *ops)
{
	struct slot slot;

	if (op->wanted && write_record(&slot, op, type, tracers_clock(),
				       min_t(size_t, bytes, U32_MAX))) {
		slot.record->offset = at;
		slot.record->result = result;
		if (ops) {
			slot.record->extra = ops->oobbuf ? ops->ooblen : 0;
			slot.record->flags =
				(ops->datbuf ? 0 : TRACE_OOB) |
				(ops->mode == MTD_OPS_RAW ? TRACE_RAW : 0);
		}
		record_commit(&slot);
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
				  op.wanted ? op.span.start_ns : 0);
	result = op.chip->read(mtd, from, ops);
	if (call) {
		end = (from + ops->retlen + mtd->writesize - 1) >>
		      op.chip->nand->page_shift;
		if (ops->retlen)
			hits(op.chip, call, end);
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

/* A callback that the driver has not got stays NULL: the core asks for it. */
#define HOOK(ops, name, to)                          \
	do {                                         \
		if ((ops)->name)                     \
			WRITE_ONCE((ops)->name, to); \
	} while (0)

/* The controller's lock is held by whoever is in a callback. */
void flash_hook(struct flash_chip *chip)
{
	struct nand_ecc_ctrl *ecc = &chip->nand->ecc;

	mutex_lock(&chip->nand->controller->lock);
	chip->ecc = *ecc;
	chip->nested = 0;
	HOOK(ecc, read_page, hook_read_page);
	HOOK(ecc, read_page_raw, hook_read_page_raw);
	HOOK(ecc, read_subpage, hook_read_subpage);
	HOOK(ecc, read_oob, hook_read_oob);
	HOOK(ecc, read_oob_raw, hook_read_oob_raw);
	HOOK(ecc, write_page, hook_write_page);
	HOOK(ecc, write_page_raw, hook_write_page_raw);
	HOOK(ecc, write_subpage, hook_write_subpage);
	HOOK(ecc, write_oob, hook_write_oob);
	HOOK(ecc, write_oob_raw, hook_write_oob_raw);
	mutex_unlock(&chip->nand->controller->lock);
	chip->read = chip->mtd->_read_oob;
	chip->write = chip->mtd->_write_oob;
	chip->erase = chip->mtd->_erase;
	smp_wmb();
	WRITE_ONCE(chip->mtd->_read_oob, hook_mtd_read);
	WRITE_ONCE(chip->mtd->_write_oob, hook_mtd_write);
	WRITE_ONCE(chip->mtd->_erase, hook_mtd_erase);
	chip->hooked = true;
}

/*
 * MTD's callbacks run without a lock of ours to wait for. First let those who
 * took the pointer count themselves, then those who have count themselves out,
 * then the last instructions after that.
 */
static void wait_for_calls(struct flash_chip *chip)
{
	synchronize_rcu_tasks();
	while (atomic_read(&chip->inside))
		schedule_timeout_uninterruptible(1);
	synchronize_rcu_tasks();
}

void flash_unhook(struct flash_chip *chip)
{
	struct nand_ecc_ctrl *ecc = &chip->nand->ecc;

	mutex_lock(&chip->nand->controller->lock);
	ecc->read_page = chip->ecc.read_page;
	ecc->read_page_raw = chip->ecc.read_page_raw;
	ecc->read_subpage = chip->ecc.read_subpage;
	ecc->read_oob = chip->ecc.read_oob;
	ecc->read_oob_raw = chip->ecc.read_oob_raw;
	ecc->write_page = chip->ecc.write_page;
	ecc->write_page_raw = chip->ecc.write_page_raw;
	ecc->write_subpage = chip->ecc.write_subpage;
	ecc->write_oob = chip->ecc.write_oob;
	ecc->write_oob_raw = chip->ecc.write_oob_raw;
	mutex_unlock(&chip->nand->controller->lock);
	WRITE_ONCE(chip->mtd->_read_oob, chip->read);
	WRITE_ONCE(chip->mtd->_write_oob, chip->write);
	WRITE_ONCE(chip->mtd->_erase, chip->erase);
	wait_for_calls(chip);
	chip->hooked = false;
}
