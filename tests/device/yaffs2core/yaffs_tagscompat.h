/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef __YAFFS_TAGSCOMPAT_H__
#define __YAFFS_TAGSCOMPAT_H__

#include "yaffs_guts.h"

#if CORE >= 201301
void yaffs_tags_compat_install(struct yaffs_dev *dev);
#endif
void yaffs_calc_tags_ecc(struct yaffs_tags *tags);
int yaffs_check_tags_ecc(struct yaffs_tags *tags);

#endif
