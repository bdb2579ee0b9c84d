/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef __YAFFS_GETBLOCKINFO_H__
#define __YAFFS_GETBLOCKINFO_H__

#include "yaffs_guts.h"

static inline struct yaffs_block_info *
yaffs_get_block_info(struct yaffs_dev *dev, int blk)
{
	return &dev->block_info[blk - (int)dev->internal_start_block];
}

#endif
