// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * YAFFS1's tags, on pages of 512 bytes: eight bytes of the OOB. They include a
 * deletion mark, which a later program of its own clears.
 */
#include "yaffs2.h"
#include "yaffs_packedtags1.h"
#include "yaffs_tagscompat.h"

#define TAGS_BYTES 8 /* of the packed structure, the rest is in RAM only */

int yl_tags1_write(struct yaffs_dev *dev, int chunk, const u8 *data,
		   const struct yaffs_ext_tags *tags)
{
	struct yl_fs *fs = yl_of_dev(dev);
	struct yaffs_packed_tags1 packed;
	int err;

	yaffs_pack_tags1(&packed, tags);
	yaffs_calc_tags_ecc((struct yaffs_tags *)&packed);
	if (tags->is_deleted) {
		memset(&packed, 0xff, sizeof(packed));
		packed.deleted = 0;
	}
	err = yl_mtd_write(fs, chunk, data, &packed, TAGS_BYTES);
	yl_note_write(fs, tags, err);
	return err ? YAFFS_FAIL : YAFFS_OK;
}

static enum yaffs_ecc_result page_result(struct yaffs_dev *dev, int err)
{
	switch (err) {
	case 0:
		return YAFFS_ECC_RESULT_NO_ERROR;
	case -EUCLEAN:
		dev->n_ecc_fixed++;
		return YAFFS_ECC_RESULT_FIXED;
	default:
		dev->n_ecc_unfixed++;
		return YAFFS_ECC_RESULT_UNFIXED;
	}
}

/* The tags' own ECC is computed as if the deletion mark were not set. */
static enum yaffs_ecc_result check_tags(struct yaffs_dev *dev,
					struct yaffs_packed_tags1 *packed,
					enum yaffs_ecc_result result)
{
	bool deleted = !packed->deleted;
	int fixed;

	packed->deleted = 1;
	fixed = yaffs_check_tags_ecc((struct yaffs_tags *)packed);
	packed->deleted = !deleted;
	if (fixed > 0) {
		dev->n_tags_ecc_fixed++;
		return max_t(enum yaffs_ecc_result, result,
			     YAFFS_ECC_RESULT_FIXED);
	}
	if (fixed < 0) {
		dev->n_tags_ecc_unfixed++;
		return YAFFS_ECC_RESULT_UNFIXED;
	}
	return result;
}

int yl_tags1_read(struct yaffs_dev *dev, int chunk, u8 *data,
		  struct yaffs_ext_tags *tags)
{
	struct yl_fs *fs = yl_of_dev(dev);
	struct yaffs_packed_tags1 packed;
	struct yaffs_ext_tags unwanted;
	enum yaffs_ecc_result result;

	if (!tags)
		tags = &unwanted;
	memset(&packed, 0xff, sizeof(packed));
	result = page_result(dev,
			     yl_mtd_read(fs, chunk, data, &packed, TAGS_BYTES));
	memset(tags, 0, sizeof(*tags));
	if (!yaffs_check_ff((u8 *)&packed, TAGS_BYTES)) {
		result = check_tags(dev, &packed, result);
		yaffs_unpack_tags1(tags, &packed);
	}
	tags->ecc_result = result;
	if (result != YAFFS_ECC_RESULT_UNFIXED)
		return YAFFS_OK;
	yl_note_read(fs, chunk, tags);
	return YAFFS_FAIL;
}
