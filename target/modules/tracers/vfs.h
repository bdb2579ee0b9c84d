/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * VFSMon: what programs ask of a file system, what the page cache answers, and
 * what is left for the file system to do. A point is a kernel function and how
 * to tell from its arguments what is asked of which file.
 */
#ifndef TRACERS_VFS_H
#define TRACERS_VFS_H

#include <linux/fs.h>

#include "probes.h"
#include "tracers.h"

/* A call of a traced function, filled in by the point's look. */
struct vfs_call {
	struct span span;
	u64 inode;
	u64 offset;
	u64 size;
	u32 extra;
	u16 device;
	u8 type;
	u8 flags;
	/* Pages to look for in the page cache: NULL, none. */
	struct address_space *cache;
	/* A mount: what it will say when it is done. */
	const struct fs_context *mount;
};

struct vfs_point {
	u8 type;
	/* The functions that may do this, in order; the first there is used. */
	const char *const *candidates;
	/* False: not what the filter lets pass. */
	bool (*look)(struct vfs_call *call, const unsigned long *args);
	bool instant; /* only its entry is of interest */

	struct probe probe;
	const char *why_absent; /* NULL: it is probed */
};

extern struct monitor vfsmon;

/* Points of the VFS and the page cache; of the file system. */
extern struct vfs_point vfs_points[];
extern const unsigned int vfs_points_count;
extern struct vfs_point vfs_fs_points[];
extern const unsigned int vfs_fs_points_count;

/* Whether the filter lets the inode pass; then the call is of it. */
bool vfs_call_of(struct vfs_call *call, const struct inode *inode);
/* The same for a file system as a whole. */
bool vfs_call_of_super(struct vfs_call *call, const struct super_block *sb);
/* For what is asked before a file system can be named. */
bool vfs_call_of_none(struct vfs_call *call);

/* The filter, and what is known of the file system that it names. */
int vfs_filter_command(const char *word, char *rest);
int vfs_filter_start(void);
void vfs_filter_stop(void);
/* Whether the file system's module is kept from going while it runs. */
bool vfs_filter_holds_module(void);
void vfs_filter_status(struct seq_file *file);

/* Names the functions of an operation of the file system. */
int vfs_fs_command(char *rest);
/* From the operations of a file's mapping, or by names that begin so. */
void vfs_fs_resolve(const struct address_space_operations *ops,
		    const char *prefix);

/* How many of the pages of a read the cache has, and which: PC_HIT, PC_MISS. */
void vfs_cache_look(struct vfs_call *call);

/* Writes the record of a call that ends now, or had no length. */
void vfs_record(const struct vfs_call *call, u64 end_ns, long result);

#endif
