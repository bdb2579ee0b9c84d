/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef __YTRACE_H__
#define __YTRACE_H__

#define YAFFS_TRACE_BAD_BLOCKS 0x10
#define YAFFS_TRACE_ERROR      0x40000000
#define YAFFS_TRACE_BUG	       0x80000000
#define YAFFS_TRACE_ALWAYS     0xf0000000

#endif
