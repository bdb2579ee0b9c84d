/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef __YAFFS_PACKEDTAGS1_H__
#define __YAFFS_PACKEDTAGS1_H__

#include "yaffs_guts.h"

struct yaffs_packed_tags1 {
#if CORE >= 201607
	u32 deleted : 1;
#else
	unsigned deleted : 1;
#endif
	unsigned should_be_ff;
};

void yaffs_pack_tags1(struct yaffs_packed_tags1 *pt,
		      const struct yaffs_ext_tags *t);
void yaffs_unpack_tags1(struct yaffs_ext_tags *t,
			const struct yaffs_packed_tags1 *pt);

#endif
