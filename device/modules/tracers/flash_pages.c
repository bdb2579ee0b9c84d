// SPDX-License-Identifier: GPL-2.0-or-later
/* The hooks of a chip's pages and blocks: see flash.h. */
#include "compat.h"
#include "flash.h"

/* Drivers number pages within a die. */
static u64 chip_page(const struct nand_chip *nand, u64 page)
{
	u64 die = max(nand->cur_cs, 0);

	return page + die * ((u64)nand->pagemask + 1);
}

/* A callback that another callback calls is not an operation of its own. */
static __always_inline void op_begin_at(struct page_op *op,
					struct flash_chip *chip, u64 page)
{
	op->call = NULL;
	op->chip = chip;
	op->page = page;
	op->wanted = !chip->nested++ && flash_wants(chip, page);
	if (op->wanted)
		record_open(&op->record);
}

static __always_inline void op_begin(struct page_op *op, struct nand_chip *nand,
				     int page)
{
	op_begin_at(op, flash_chip_of(nand), chip_page(nand, page));
}

static __always_inline void op_begin_read(struct page_op *op,
					  struct nand_chip *nand, int page)
{
	struct flash_chip *chip = flash_chip_of(nand);
	struct flash_call *call = NULL;
	u64 at = chip_page(nand, page);

	if (!chip->nested && READ_ONCE(flashmon.recording))
		call = flash_call_of(chip);
	if (call) {
		if (unlikely(call->next < at))
			flash_hits(chip, call, at);
		call->next = at + 1;
	}
	op_begin_at(op, chip, at);
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

static void op_record(struct page_op *op, u8 type, u8 flags, u32 bytes,
		      int result)
{
	struct trace_record *record = &op->record;
	u64 end_ns = tracers_clock();

	op_count(op, type, flags);
	if (op->call)
		op->call->now_ns = end_ns;
	record->type = type;
	record->flags = flags;
	record->depth = 0;
	record->size = bytes;
	record->offset = op->page << op->chip->nand->page_shift;
	record->result = result;
	record->extra = 0;
	flash_write(op, flash_device_near(op->chip, op->page), end_ns);
}

static __always_inline void op_end(struct page_op *op, u8 type, u8 flags,
				   u32 bytes, int result)
{
	op->chip->nested--;
	if (op->wanted)
		op_record(op, type, flags, bytes, result);
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
	record_open(&op->record);
	return true;
}

static void erase_leave(struct probe *probe, void *data, unsigned long result)
{
	struct page_op *op = data;
	const struct nand_chip *nand = op->chip->nand;
	u64 end_ns = tracers_clock();

	flash_block_of(op->chip, op->page)->erases++;
	op->record = (struct trace_record){
		.seq = op->record.seq,
		.start_ns = op->record.start_ns,
		.type = TRACE_FLASH_ERASE,
		.offset = op->page << nand->page_shift,
		.size = op->chip->mtd->erasesize,
		.result = result,
		.extra =
			op->page >> (nand->phys_erase_shift - nand->page_shift),
	};
	flash_write(op, flash_device_near(op->chip, op->page), end_ns);
}

struct probe flash_erase_probe = {
	.name = "nand_erase_op",
	.enter = erase_enter,
	.leave = erase_leave,
	.data_bytes = sizeof(struct page_op),
};

/* clang-format off */
#define HOOKED(X)		\
	X(read_page)		\
	X(read_page_raw)	\
	X(read_subpage)		\
	X(read_oob)		\
	X(read_oob_raw)		\
	X(write_page)		\
	X(write_page_raw)	\
	X(write_subpage)	\
	X(write_oob)		\
	X(write_oob_raw)
/* clang-format on */

/* Callbacks are called with the controller's lock held. One that the driver
 * does not have stays NULL: the core checks for that. */
void flash_hook_pages(struct flash_chip *chip)
{
	struct nand_ecc_ctrl *ecc = &chip->nand->ecc;

	mutex_lock(&chip->nand->controller->lock);
	chip->ecc = *ecc;
	chip->nested = 0;
#define HOOK(name)     \
	if (ecc->name) \
		WRITE_ONCE(ecc->name, hook_##name);
	HOOKED(HOOK)
#undef HOOK
	mutex_unlock(&chip->nand->controller->lock);
}

bool flash_pages_are_ours(const struct flash_chip *chip)
{
	const struct nand_ecc_ctrl *ecc = &chip->nand->ecc;
	bool ours = true;

#define IS_OURS(name) \
	ours = ours && (!chip->ecc.name || ecc->name == hook_##name);
	HOOKED(IS_OURS)
#undef IS_OURS
	return ours;
}

void flash_unhook_pages(struct flash_chip *chip)
{
	struct nand_ecc_ctrl *ecc = &chip->nand->ecc;

	mutex_lock(&chip->nand->controller->lock);
#define UNHOOK(name) ecc->name = chip->ecc.name;
	HOOKED(UNHOOK)
#undef UNHOOK
	mutex_unlock(&chip->nand->controller->lock);
}
