// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The controller between the raw NAND framework and the chip. It hands each
 * instruction of an operation to the chip's pins, and waits once, at the end of
 * the operation, for the time that they took.
 *
 * Its ECC engine is hardware that takes no time. The page accessors move data
 * and the whole spare area, as an engine that must fetch or store its check
 * bytes does. Nothing computes these bytes: they stay 0xff. The chip knows
 * which bits read wrong; the engine corrects as many as its strength allows and
 * tells MTD.
 */
#include <linux/ktime.h>
#include <linux/sizes.h>

#include "simnand.h"

/*
 * An operation of the controller: one exec_op, or all those of a page accessor,
 * which hardware would run without the CPU's help. Operations nest: only the
 * outermost waits.
 */
static void simnand_begin(struct simnand *sim)
{
	if (sim->depth++)
		return;
	sim->start_ns = ktime_get_ns();
	sim->chip.clock_ns = sim->start_ns;
	sim->busy = true;
}

static void simnand_lock(struct simnand *sim)
{
	if (!oops_in_progress)
		mutex_lock(&sim->lock);
}

static void simnand_unlock(struct simnand *sim)
{
	if (!oops_in_progress)
		mutex_unlock(&sim->lock);
}

static void simnand_end(struct simnand *sim)
{
	u64 ns, ended_ns;

	if (--sim->depth)
		return;
	simnand_lock(sim);
	ns = chip_take_ns(&sim->chip);
	simnand_unlock(sim);
	ended_ns = wait_until_ns(sim->start_ns + ns);
	simnand_lock(sim);
	sim->ended_ns = ended_ns;
	sim->late_ns += ended_ns - sim->start_ns - ns;
	sim->busy = false;
	simnand_unlock(sim);
}

static void run_instruction(struct chip *chip, const struct nand_op_instr *op)
{
	switch (op->type) {
	case NAND_OP_CMD_INSTR:
		chip_command(chip, op->ctx.cmd.opcode);
		break;
	case NAND_OP_ADDR_INSTR:
		chip_address(chip, op->ctx.addr.addrs, op->ctx.addr.naddrs);
		break;
	case NAND_OP_DATA_IN_INSTR:
		chip_data_out(chip, op->ctx.data.buf.in, op->ctx.data.len,
			      op->ctx.data.force_8bit);
		break;
	case NAND_OP_DATA_OUT_INSTR:
		chip_data_in(chip, op->ctx.data.buf.out, op->ctx.data.len,
			     op->ctx.data.force_8bit);
		break;
	case NAND_OP_WAITRDY_INSTR:
		/* The chip has added its busy time to the sum already. */
		break;
	}
}

/* The chip takes any sequence of cycles, but does not know every command. */
static int check_op(const struct nand_operation *op)
{
	unsigned int i;

	for (i = 0; i < op->ninstrs; i++)
		if (op->instrs[i].type == NAND_OP_CMD_INSTR &&
		    !chip_knows(op->instrs[i].ctx.cmd.opcode))
			return -EOPNOTSUPP;
	return 0;
}

static int simnand_exec_op(struct nand_chip *nand,
			   const struct nand_operation *op, bool check_only)
{
	struct simnand *sim = nand_get_controller_data(nand);
	unsigned int i;
	int err;

	if (check_only)
		return check_op(op);
	simnand_begin(sim);
	simnand_lock(sim);
	for (i = 0; i < op->ninstrs; i++)
		run_instruction(&sim->chip, &op->instrs[i]);
	err = sim->chip.error; /* a dead chip never says that it is ready */
	if (unlikely(err))
		chip_error_told(&sim->chip);
	simnand_unlock(sim);
	simnand_end(sim);
	return err;
}

/* Correct a page just read. Returns the bits corrected in the worst step. */
static int correct_page(struct nand_chip *nand, u8 *buf)
{
	struct simnand *sim = nand_get_controller_data(nand);
	struct mtd_info *mtd = nand_to_mtd(nand);
	struct chip_ecc ecc = {
		.step = nand->ecc.size,
		.strength = nand->ecc.strength,
		.bytes = nand->ecc.bytes,
	};
	u32 corrected = 0, failed = 0;
	unsigned int most;

	if (mtd->oobsize > 16)
		ecc.check_at = mtd->writesize + mtd->oobsize - nand->ecc.total;
	simnand_lock(sim);
	most = chip_ecc_page(&sim->chip, &ecc, buf, nand->oob_poi, &corrected,
			     &failed);
	simnand_unlock(sim);
	mtd->ecc_stats.corrected += corrected;
	mtd->ecc_stats.failed += failed;
	return most;
}

static int move_page_out(struct nand_chip *nand, u8 *buf, int oob_required,
			 int page)
{
	struct simnand *sim = nand_get_controller_data(nand);
	struct mtd_info *mtd = nand_to_mtd(nand);
	int err;

	simnand_begin(sim);
	err = nand_read_page_op(nand, page, 0, buf, mtd->writesize);
	if (!err)
		err = nand_read_data_op(nand, nand->oob_poi, mtd->oobsize,
					false, false);
	simnand_end(sim);
	return err;
}

static int read_page(struct nand_chip *nand, u8 *buf, int oob_required,
		     int page)
{
	int err = move_page_out(nand, buf, oob_required, page);

	return err ? err : correct_page(nand, buf);
}

static int read_page_raw(struct nand_chip *nand, u8 *buf, int oob_required,
			 int page)
{
	struct simnand *sim = nand_get_controller_data(nand);
	int err;

	sim->chip.raw = true;
	err = move_page_out(nand, buf, oob_required, page);
	sim->chip.raw = false;
	return err;
}

static int write_page(struct nand_chip *nand, const u8 *buf, int oob_required,
		      int page)
{
	struct simnand *sim = nand_get_controller_data(nand);
	struct mtd_info *mtd = nand_to_mtd(nand);
	int err;

	simnand_begin(sim);
	err = nand_prog_page_begin_op(nand, page, 0, buf, mtd->writesize);
	if (!err)
		err = nand_write_data_op(nand, nand->oob_poi, mtd->oobsize,
					 false);
	if (!err)
		err = nand_prog_page_end_op(nand);
	simnand_end(sim);
	return err;
}

static int write_page_raw(struct nand_chip *nand, const u8 *buf,
			  int oob_required, int page)
{
	struct simnand *sim = nand_get_controller_data(nand);
	int err;

	sim->chip.raw = true;
	err = write_page(nand, buf, oob_required, page);
	sim->chip.raw = false;
	return err;
}

/* Large pages: change to the spare area and write all of it, or the check bytes
 * of some steps. These may begin at an odd column, which a 16-bit bus cannot
 * address. */
static int write_steps_oob(struct nand_chip *nand, bool whole, u32 first_step,
			   u32 last_step)
{
	struct mtd_info *mtd = nand_to_mtd(nand);
	u32 ecc_at = mtd->oobsize - nand->ecc.total;
	u32 from = whole ? 0 : ecc_at + first_step * nand->ecc.bytes;
	u32 to = whole ? mtd->oobsize
		       : ecc_at + (last_step + 1) * nand->ecc.bytes;

	from = round_down(from, 2);
	to = round_up(to, 2);
	return nand_change_write_column_op(nand, mtd->writesize + from,
					   nand->oob_poi + from, to - from,
					   false);
}

/*
 * Program the ECC steps that a write touches, and no other column. The kernel
 * hands over a whole page that is 0xff outside the write. Small pages cannot
 * change column: only the range is written, or everything from its start on if
 * the caller has spare bytes to write.
 */
static int write_subpage(struct nand_chip *nand, u32 offset, u32 bytes,
			 const u8 *buf, int oob_required, int page)
{
	struct simnand *sim = nand_get_controller_data(nand);
	struct mtd_info *mtd = nand_to_mtd(nand);
	u32 first = offset / nand->ecc.size;
	u32 last = (offset + bytes - 1) / nand->ecc.size;
	bool small = mtd->writesize <= SZ_512;
	u32 start = first * nand->ecc.size;
	u32 end = (last + 1) * nand->ecc.size;
	int err;

	if (small && oob_required)
		end = mtd->writesize;
	simnand_begin(sim);
	err = nand_prog_page_begin_op(nand, page, start, buf + start,
				      end - start);
	if (!err && !small)
		err = write_steps_oob(nand, oob_required, first, last);
	else if (!err && end == mtd->writesize)
		err = nand_write_data_op(nand, nand->oob_poi, mtd->oobsize,
					 false);
	if (!err)
		err = nand_prog_page_end_op(nand);
	simnand_end(sim);
	return err;
}

/* Large pages: bad block marker, free bytes, check bytes at the end. Unlike the
 * kernel's legacy layout of 64 bytes, it takes any number of check bytes. */
static int layout_ecc(struct mtd_info *mtd, int section,
		      struct mtd_oob_region *region)
{
	struct nand_chip *nand = mtd_to_nand(mtd);

	if (section)
		return -ERANGE;
	region->offset = mtd->oobsize - nand->ecc.total;
	region->length = nand->ecc.total;
	return 0;
}

static int layout_free(struct mtd_info *mtd, int section,
		       struct mtd_oob_region *region)
{
	struct nand_chip *nand = mtd_to_nand(mtd);

	if (section)
		return -ERANGE;
	region->offset = 2;
	region->length = mtd->oobsize - nand->ecc.total - 2;
	return 0;
}

static const struct mtd_ooblayout_ops large_page_layout = {
	.ecc = layout_ecc,
	.free = layout_free,
};

/* The pages where the kernel looks for bad block markers and puts them: those
 * that the chip file names, else the kernel's choice for the vendor. */
static void place_bad_marks(struct nand_chip *nand, unsigned int pages)
{
	if (!pages)
		return;
	nand->options &=
		~(NAND_BBM_FIRSTPAGE | NAND_BBM_SECONDPAGE | NAND_BBM_LASTPAGE);
	if (pages & 1)
		nand->options |= NAND_BBM_FIRSTPAGE;
	if (pages & 2)
		nand->options |= NAND_BBM_SECONDPAGE;
	if (pages & 4)
		nand->options |= NAND_BBM_LASTPAGE;
}

static int simnand_attach(struct nand_chip *nand)
{
	struct simnand *sim = nand_get_controller_data(nand);
	struct mtd_info *mtd = nand_to_mtd(nand);

	/* Set here and not by a parameter page, which the chip has not. The
	 * kernel then asks for what the maker's chips have: block protection of
	 * Macronix, since 5.8. It would log an error if it could not ask. */
	nand->parameters.supports_set_get_features = true;
	nand->ecc.engine_type = NAND_ECC_ENGINE_TYPE_ON_HOST;
	nand->ecc.size = sim->params.ecc_step;
	nand->ecc.bytes = sim->params.ecc_bytes;
	nand->ecc.strength = sim->params.ecc_strength;
	nand->ecc.read_page = read_page;
	nand->ecc.read_page_raw = read_page_raw;
	nand->ecc.write_page = write_page;
	nand->ecc.write_page_raw = write_page_raw;
	nand->ecc.write_subpage = write_subpage;
	place_bad_marks(nand, sim->params.chip.bad_mark_pages);
	if (sim->params.chip.nop == 1)
		nand->options |= NAND_NO_SUBPAGE_WRITE;
	if (mtd->oobsize > 16) /* 8 and 16: the kernel's own small layout */
		mtd_set_ooblayout(mtd, &large_page_layout);
	return 0;
}

static const struct nand_controller_ops simnand_ops = {
	.attach_chip = simnand_attach,
	.exec_op = simnand_exec_op,
};

/* The kernel identifies the chip by this table of one entry, not by its own. */
static void fill_ids(struct simnand *sim)
{
	const struct chip_params *p = &sim->params.chip;
	struct nand_flash_dev *dev = &sim->ids[0];

	BUILD_BUG_ON(CHIP_ID_MAX > NAND_MAX_ID_LEN);
	dev->name = sim->params.name;
	memcpy(dev->id, p->id, p->id_len);
	dev->id_len = p->id_len;
	dev->pagesize = p->writesize;
	dev->oobsize = p->oobsize;
	dev->erasesize = p->erasesize;
	dev->chipsize = ((u64)p->erasesize * p->blocks) >> 20;
	if (p->bus_bits == 16)
		dev->options |= NAND_BUSWIDTH_16;
}

/* The chip has no pages that are written only once. The kernel takes some of
 * Macronix's parts to have them, by their names, since 6.10. */
static void forget_otp(struct mtd_info *mtd)
{
	mtd->_get_user_prot_info = NULL;
	mtd->_read_user_prot_reg = NULL;
	mtd->_write_user_prot_reg = NULL;
	mtd->_lock_user_prot_reg = NULL;
}

int simnand_scan(struct simnand *sim)
{
	struct nand_chip *nand = &sim->nand;
	int err;

	nand_controller_init(&sim->controller);
	sim->controller.ops = &simnand_ops;
	nand->controller = &sim->controller;
	nand_set_controller_data(nand, sim);
	nand_to_mtd(nand)->owner = THIS_MODULE;
	nand_to_mtd(nand)->name = sim->params.name;
	if (sim->params.chip.bus_bits == 16)
		nand->options |= NAND_BUSWIDTH_16;
	fill_ids(sim);
	err = nand_scan_with_ids(nand, 1, sim->ids);
	forget_otp(nand_to_mtd(nand));
	return err;
}
