// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * YAFFS2 on MTD: pages with their OOB's free bytes, erasures, bad blocks, and
 * the choice of the core's layout of tags that fits a chip.
 */
#include <linux/bitmap.h>
#include <linux/mtd/rawnand.h>

#include "yaffs2.h"
#include "yaffs_getblockinfo.h"
#include "yaffs_packedtags1.h"
#include "yaffs_packedtags2.h"

/* The core's table of blocks counts pages in signed fields of ten bits. */
#define PAGES_PER_BLOCK_MAX 511
#define YAFFS1_TAGS_BYTES   8

static loff_t address_of(struct yl_fs *fs, int chunk)
{
	return (loff_t)chunk * fs->mtd->writesize;
}

/* Whether the core checks a page that it is about to write, or has just
 * written. */
static bool is_being_written(struct yaffs_dev *dev, int chunk)
{
	int block = dev->alloc_block;

	return block >= 0 &&
	       chunk == block * (int)dev->param.chunks_per_block +
				(int)dev->alloc_page - 1 &&
	       !yaffs_get_block_info(dev, block)->skip_erased_check;
}

/*
 * The core goes on when a page cannot be read, but whoever asked for it must
 * get the error. The lock's holder has not asked for pages that are read by
 * garbage collection, or by the check of a page to write: it must not get their
 * errors.
 */
void yl_note_read(struct yl_fs *fs, int chunk,
		  const struct yaffs_ext_tags *tags)
{
	if (is_being_written(&fs->dev, chunk))
		return;
	if (fs->dev.gc_disable)
		yl_note_bad_copy(fs, chunk, tags);
	else
		fs->read_error = -EIO;
}

int yl_mtd_read(struct yl_fs *fs, int chunk, u8 *data, void *oob,
		unsigned int oob_bytes)
{
	struct mtd_oob_ops ops = {
		.mode = MTD_OPS_AUTO_OOB,
		.len = data ? fs->mtd->writesize : 0,
		.datbuf = data,
		.ooblen = oob_bytes,
		.oobbuf = oob,
	};

	if (data)
		fs->counts.page_reads++;
	else
		fs->counts.oob_reads++;
	return mtd_read_oob(fs->mtd, address_of(fs, chunk), &ops);
}

int yl_mtd_write(struct yl_fs *fs, int chunk, const u8 *data, const void *oob,
		 unsigned int oob_bytes)
{
	struct mtd_oob_ops ops = {
		.mode = MTD_OPS_AUTO_OOB,
		.len = data ? fs->mtd->writesize : 0,
		.datbuf = (u8 *)data,
		.ooblen = oob_bytes,
		.oobbuf = (u8 *)oob,
	};
	int err;

	if (fs->dev.read_only)
		return fs->write_error = -EROFS;
	if (data)
		fs->counts.page_writes++;
	else
		fs->counts.oob_writes++;
	err = mtd_write_oob(fs->mtd, address_of(fs, chunk), &ops);
	if (err)
		fs->counts.write_failures++;
	fs->write_error = err;
	return err;
}

static int erase_now(struct yl_fs *fs, int block)
{
	struct erase_info erase = {
		.addr = (loff_t)block * fs->mtd->erasesize,
		.len = fs->mtd->erasesize,
	};
	int err;

	fs->counts.erasures++;
	err = mtd_erase(fs->mtd, &erase);
	if (err) {
		fs->counts.erase_failures++;
		fs->erase_failed = block;
	}
	return err;
}

/*
 * Even in a read-only mount the core finds blocks without live data and wants
 * them erased. Nothing will be written to them before a remount, which erases
 * them then.
 */
static int yl_erase(struct yaffs_dev *dev, int block)
{
	struct yl_fs *fs = yl_of_dev(dev);

	if (dev->read_only) {
		set_bit(block, fs->not_erased);
		return YAFFS_OK;
	}
	return erase_now(fs, block) ? YAFFS_FAIL : YAFFS_OK;
}

int yl_erase_pending(struct yl_fs *fs)
{
	unsigned int blocks = fs->dev.param.end_block + 1, block;
	int err;

	for_each_set_bit (block, fs->not_erased, blocks) {
		err = erase_now(fs, block);
		if (err)
			return err;
		clear_bit(block, fs->not_erased);
	}
	return 0;
}

/*
 * After an erasure failed, the core marks that same block bad, but with the
 * wrong number if it was cleaning up a checkpoint: U-Boot's
 * yaffs_checkpt_erase() leaves out the offset between its numbers and ours, and
 * a good block with data would be lost. So the number of the failed erasure is
 * used.
 */
static int yl_mark_bad(struct yaffs_dev *dev, int block)
{
	struct yl_fs *fs = yl_of_dev(dev);
	int err;

	if (fs->erase_failed >= 0)
		block = fs->erase_failed;
	fs->erase_failed = -1;
	if (dev->read_only)
		return YAFFS_FAIL;
	err = mtd_block_markbad(fs->mtd, (loff_t)block * fs->mtd->erasesize);
	return err ? YAFFS_FAIL : YAFFS_OK;
}

static int yl_check_bad(struct yaffs_dev *dev, int block)
{
	struct yl_fs *fs = yl_of_dev(dev);

	return mtd_block_isbad(fs->mtd, (loff_t)block * fs->mtd->erasesize)
		       ? YAFFS_FAIL
		       : YAFFS_OK;
}

static int read_tags(struct yaffs_dev *dev, int chunk,
		     struct yaffs_ext_tags *tags)
{
	return dev->param.is_yaffs2 ? yl_tags2_read(dev, chunk, NULL, tags)
				    : yl_tags1_read(dev, chunk, NULL, tags);
}

/*
 * The tags of a block's first page have its sequence number. If power was cut
 * while that page was written, they cannot be read: the next readable page is
 * used. If there is none, the block gets the lowest number: the core will scan
 * it, find it empty, and erase it.
 */
static int yl_query(struct yaffs_dev *dev, int block,
		    enum yaffs_block_state *state, u32 *sequence)
{
	struct yl_fs *fs = yl_of_dev(dev);
	int chunk = block * dev->param.chunks_per_block;
	int end = chunk + dev->param.chunks_per_block;
	struct yaffs_ext_tags tags;

	*sequence = 0;
	if (mtd_block_isbad(fs->mtd, (loff_t)block * fs->mtd->erasesize)) {
		*state = YAFFS_BLOCK_STATE_DEAD;
		return YAFFS_OK;
	}
	read_tags(dev, chunk, &tags);
	if (!tags.chunk_used && tags.ecc_result != YAFFS_ECC_RESULT_UNFIXED) {
		*state = YAFFS_BLOCK_STATE_EMPTY;
		return YAFFS_OK;
	}
	*state = YAFFS_BLOCK_STATE_NEEDS_SCAN;
	while (tags.ecc_result == YAFFS_ECC_RESULT_UNFIXED && ++chunk < end)
		read_tags(dev, chunk, &tags);
	if (tags.chunk_used && tags.ecc_result != YAFFS_ECC_RESULT_UNFIXED)
		*sequence = tags.seq_number;
	else
		*sequence = YAFFS_LOWEST_SEQUENCE_NUMBER;
	return YAFFS_OK;
}

static int yl_nothing(struct yaffs_dev *dev)
{
	return YAFFS_OK;
}

static const struct yl_flash_fns fns1 = {
	.write = yl_tags1_write,
	.read = yl_tags1_read,
	.query = yl_query,
	.erase = yl_erase,
	.mark_bad = yl_mark_bad,
	.check_bad = yl_check_bad,
	.nothing = yl_nothing,
};

static const struct yl_flash_fns fns2 = {
	.write = yl_tags2_write,
	.read = yl_tags2_read,
	.query = yl_query,
	.erase = yl_erase,
	.mark_bad = yl_mark_bad,
	.check_bad = yl_check_bad,
	.nothing = yl_nothing,
};

static int refuse(struct yl_fs *fs, const char *why)
{
	pr_err("yaffs2: mtd%d cannot be mounted: %s\n", fs->mtd->index, why);
	return -EINVAL;
}

static int choose_yaffs1(struct yl_fs *fs)
{
	struct yaffs_param *param = &fs->dev.param;

	if (fs->options.inband_tags)
		return refuse(fs,
			      "inband tags need pages of 1024 bytes or more");
	if (fs->mtd->oobavail < YAFFS1_TAGS_BYTES)
		return refuse(fs, "its OOB has no room for the tags");
	param->use_nand_ecc = 1;
	core_set_flash(&fs->dev, &fns1);
	return 0;
}

static int choose_yaffs2(struct yl_fs *fs)
{
	struct yaffs_param *param = &fs->dev.param;
	unsigned int bytes =
		fs->options.tags_ecc
			? sizeof(struct yaffs_packed_tags2)
			: sizeof(struct yaffs_packed_tags2_tags_only);

	param->is_yaffs2 = 1;
	param->no_tags_ecc = !fs->options.tags_ecc;
	param->inband_tags =
		fs->options.inband_tags || fs->mtd->oobavail < bytes;
	core_set_flash(&fs->dev, &fns2);
	return 0;
}

/* Set those of the core's parameters that the chip determines. */
int yl_choose_layout(struct yl_fs *fs)
{
	struct mtd_info *mtd = fs->mtd;
	struct yaffs_param *param = &fs->dev.param;

	if (mtd->type != MTD_NANDFLASH && mtd->type != MTD_MLCNANDFLASH)
		return refuse(fs, "it is not raw NAND");
	if (mtd->erasesize / mtd->writesize > PAGES_PER_BLOCK_MAX)
		return refuse(fs, "its blocks have more than 511 pages");
	param->total_bytes_per_chunk = mtd->writesize;
	param->spare_bytes_per_chunk = mtd->oobsize;
	param->chunks_per_block = mtd->erasesize / mtd->writesize;
	param->start_block = 0;
	param->end_block = mtd_div_by_eb(mtd->size, mtd) - 1;
	if (param->end_block <= param->n_reserved_blocks + 2)
		return refuse(fs, "it has too few blocks");
	return mtd->writesize < YAFFS_MIN_YAFFS2_CHUNK_SIZE ? choose_yaffs1(fs)
							    : choose_yaffs2(fs);
}
