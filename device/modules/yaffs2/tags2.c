// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * YAFFS2's tags: 16 bytes, or 28 with an ECC of their own, in the OOB's free
 * bytes; or "inband", at the end of the page's data. There they are protected
 * like data, but reading them costs a read of the page, and a page has less
 * room for a file.
 */
#include "yaffs2.h"

static struct yaffs_packed_tags2_tags_only *inband_tags(struct yaffs_dev *dev,
							u8 *data)
{
	return (void *)(data + dev->data_bytes_per_chunk);
}

static unsigned int oob_bytes(struct yaffs_dev *dev)
{
	return dev->param.no_tags_ecc
		       ? sizeof(struct yaffs_packed_tags2_tags_only)
		       : sizeof(struct yaffs_packed_tags2);
}

/* With inband tags the core's buffers have room for them behind the data. */
int yl_tags2_write(struct yaffs_dev *dev, int chunk, const u8 *data,
		   const struct yaffs_ext_tags *tags)
{
	struct yl_fs *fs = yl_of_dev(dev);
	struct yaffs_packed_tags2 packed;
	int err;

	if (dev->param.inband_tags) {
		core_pack_tags2_only(dev, inband_tags(dev, (u8 *)data), tags);
		err = yl_mtd_write(fs, chunk, data, NULL, 0);
	} else {
		core_pack_tags2(dev, &packed, tags, !dev->param.no_tags_ecc);
		err = yl_mtd_write(fs, chunk, data, &packed, oob_bytes(dev));
	}
	yl_note_write(fs, tags, err);
	return err ? YAFFS_FAIL : YAFFS_OK;
}

static int read_inband(struct yaffs_dev *dev, int chunk, u8 *data,
		       struct yaffs_ext_tags *tags)
{
	u8 *page = data ? data : yaffs_get_temp_buffer(dev);
	int err = yl_mtd_read(yl_of_dev(dev), chunk, page, NULL, 0);

	core_unpack_tags2_only(dev, tags, inband_tags(dev, page));
	tags->ecc_result = YAFFS_ECC_RESULT_NO_ERROR;
	if (!data)
		yaffs_release_temp_buffer(dev, page);
	return err;
}

static int read_oob(struct yaffs_dev *dev, int chunk, u8 *data,
		    struct yaffs_ext_tags *tags)
{
	struct yaffs_packed_tags2 packed;
	int err;

	memset(&packed, 0xff, sizeof(packed));
	err = yl_mtd_read(yl_of_dev(dev), chunk, data, &packed, oob_bytes(dev));
	core_unpack_tags2(dev, tags, &packed, !dev->param.no_tags_ecc);
	if (tags->ecc_result == YAFFS_ECC_RESULT_FIXED)
		dev->n_tags_ecc_fixed++;
	else if (tags->ecc_result == YAFFS_ECC_RESULT_UNFIXED)
		dev->n_tags_ecc_unfixed++;
	return err;
}

/* The result is the worse of what the ECC of the tags and that of the page
 * say. */
int yl_tags2_read(struct yaffs_dev *dev, int chunk, u8 *data,
		  struct yaffs_ext_tags *tags)
{
	struct yl_fs *fs = yl_of_dev(dev);
	struct yaffs_ext_tags unwanted;
	int err;

	if (!tags)
		tags = &unwanted;
	err = dev->param.inband_tags ? read_inband(dev, chunk, data, tags)
				     : read_oob(dev, chunk, data, tags);
	if (err == -EUCLEAN) {
		dev->n_ecc_fixed++;
		if (tags->ecc_result == YAFFS_ECC_RESULT_NO_ERROR)
			tags->ecc_result = YAFFS_ECC_RESULT_FIXED;
	} else if (err) {
		dev->n_ecc_unfixed++;
		tags->ecc_result = YAFFS_ECC_RESULT_UNFIXED;
	}
	if (tags->ecc_result != YAFFS_ECC_RESULT_UNFIXED)
		return YAFFS_OK;
	yl_note_read(fs, chunk, tags);
	return YAFFS_FAIL;
}
