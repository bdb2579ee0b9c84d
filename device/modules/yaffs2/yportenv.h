/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the YAFFS2 core expects of its environment, in the kernel's terms.
 *
 * Kbuild includes this file ahead of everything else (-include), so that the
 * guard below also keeps out the yportenv.h that lies beside the core's files.
 */
#ifndef __YPORTENV_H__
#define __YPORTENV_H__

#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/stat.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/types.h>
#include <linux/vmalloc.h>
#include <linux/xattr.h>

#define YCHAR			char
#define YUCHAR			unsigned char
#define _Y(x)			x
#define YTIME_T			u32
#define Y_LOFF_T		loff_t

#define yaffs_strcat(a, b)	strcat(a, b)
#define yaffs_strcpy(a, b)	strcpy(a, b)
#define yaffs_strncpy(a, b, c)	strncpy(a, b, c)
#define yaffs_strnlen(s, m)	strnlen(s, m)
#define yaffs_strcmp(a, b)	strcmp(a, b)
#define yaffs_strncmp(a, b, c)	strncmp(a, b, c)

#define YAFFS_LOSTNFOUND_NAME	"lost+found"
#define YAFFS_LOSTNFOUND_PREFIX "obj"
#define YAFFS_ROOT_MODE		0755
#define YAFFS_LOSTNFOUND_MODE	0700

/* File times are whole seconds of the clock that the VFS uses for inodes. */
static inline u32 yl_now(void)
{
	struct timespec64 now;

	ktime_get_coarse_real_ts64(&now);
	return now.tv_sec;
}

#define Y_CURRENT_TIME	  yl_now()
#define Y_TIME_CONVERT(x) (x).tv_sec

/* U-Boot's core of 2025 counts with it; the kernel has it since 6.3. */
#ifndef HAVE_LIST_COUNT_NODES
static inline size_t list_count_nodes(struct list_head *head)
{
	struct list_head *at;
	size_t count = 0;

	list_for_each (at, head)
		count++;
	return count;
}
#endif

/* Memory for the core, of any size, counted by memory.c. */
void *yl_alloc(size_t bytes, gfp_t flags);
void yl_free(const void *memory);

#ifdef YAFFS2_CORE_FILE /* Kbuild defines it for the core's own files alone */
#undef kmalloc
#undef kfree
#undef vmalloc
#undef vfree
#define kmalloc(bytes, flags) yl_alloc(bytes, flags)
#define kfree(memory)	      yl_free(memory)
#define vmalloc(bytes)	      yl_alloc(bytes, GFP_NOFS)
#define vfree(memory)	      yl_free(memory)
#endif

extern unsigned int yaffs_trace_mask;
extern unsigned int yaffs_wr_attempts;

__printf(2, 3) void yl_say(unsigned int mask, const char *format, ...);

#define yaffs_trace(mask, format, ...)                       \
	do {                                                 \
		if (yaffs_trace_mask & (mask))               \
			yl_say(mask, format, ##__VA_ARGS__); \
	} while (0)

#endif
