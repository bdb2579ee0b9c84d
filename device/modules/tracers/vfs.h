/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * VFSMon: what programs ask of a file system, what the page cache answers, and
 * what is left for the file system to do. A point is a kernel function, and
 * code that tells from its arguments what is asked of which file.
 */
#ifndef TRACERS_VFS_H
#define TRACERS_VFS_H

#include <linux/fs.h>
#include <linux/kdev_t.h>
#include <linux/magic.h>

#include "probes.h"
#include "tracers.h"

/* A call of a traced function, filled in by the point's look. */
struct vfs_call {
	struct trace_record record;
	u64 size; /* may be more than the record has room for */
	/* Where to look for the pages; NULL: do not look. */
	struct address_space *cache;
	/* Of a mount: its context, which has the file system when it is
	 * done. */
	const struct fs_context *mount;
};

struct vfs_point {
	u8 type;
	/* Functions that may do this, in order; the first that exists is
	 * used. */
	const char *const *candidates;
	/* Whether the filter lets the call pass; see probes.h. */
	bool (*wants)(struct probe *probe, const unsigned long *args);
	/* Fill in what a call asks for that the filter let pass. */
	void (*look)(struct vfs_call *call, const unsigned long *args);
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

/* The filter, in the form that is evaluated for each call. */
enum vfs_filter_kind { FILTER_ALL, FILTER_DEVICE, FILTER_TYPE };
struct vfs_filter {
	enum vfs_filter_kind kind;
	dev_t device;
	struct file_system_type *type; /* held while it runs */
};
extern struct vfs_filter vfs_filter;

/* False for proc, sysfs and debugfs. */
static inline bool vfs_is_mountable(const struct super_block *sb)
{
	return sb->s_magic != PROC_SUPER_MAGIC && sb->s_magic != SYSFS_MAGIC &&
	       sb->s_magic != DEBUGFS_MAGIC;
}

static inline bool vfs_passes(const struct super_block *sb)
{
	if (likely(vfs_filter.kind == FILTER_DEVICE))
		return sb->s_dev == vfs_filter.device;
	if (vfs_filter.kind == FILTER_TYPE)
		return sb->s_type == vfs_filter.type;
	return vfs_is_mountable(sb);
}

/* Whether to record a call on an inode: a file, a folder or a symbolic link,
 * not a pipe, a socket or a device. */
static inline bool vfs_wants(const struct inode *inode)
{
	return monitor_wants(&vfsmon) && inode && vfs_passes(inode->i_sb) &&
	       (S_ISREG(inode->i_mode) || S_ISDIR(inode->i_mode) ||
		S_ISLNK(inode->i_mode));
}

/* Note the file system of a call, and its inode. */
static inline void vfs_call_of_super(struct vfs_call *call,
				     const struct super_block *sb)
{
	unsigned int major = MAJOR(sb->s_dev), minor = MINOR(sb->s_dev);

	call->record.device =
		major > 255 || minor > 255 ? 0xffff : major << 8 | minor;
}

static inline void vfs_call_of(struct vfs_call *call, const struct inode *inode)
{
	vfs_call_of_super(call, inode->i_sb);
	call->record.object = inode->i_ino;
}

/* The n-th word of a call's arguments, with its type; and a point's wants(). */
#define ARG(type, n) ((type)args[n])
#define WANTS(name, inode)                                  \
	static bool wants_##name(struct probe *probe,       \
				 const unsigned long *args) \
	{                                                   \
		return vfs_wants(inode);                    \
	}

/* The filter, and the functions of the file system that it names. */
int vfs_filter_command(const char *word, char *rest);
int vfs_filter_start(void);
void vfs_filter_stop(void);
/* Whether the file system's module is pinned while the monitor runs. */
bool vfs_filter_holds_module(void);
void vfs_filter_status(struct seq_file *file);

/* The command op: name the functions of an operation of the file system. */
int vfs_fs_command(char *rest);
/* Find the functions in the operations of a file's mapping, or by names with
 * this prefix. */
void vfs_fs_resolve(const struct address_space_operations *ops,
		    const char *prefix);

/* Look up the pages of a read in the page cache: count and record them as
 * PC_HIT, PC_MISS. */
void vfs_cache_look(struct vfs_call *call);

#endif
