/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A mounted YAFFS2: the core's device and what the kernel's side adds to it.
 *
 * The core has no locks: hold yl_lock() around every call into it. Take it
 * after the locks of inodes, pages and superblocks, never before them: pages
 * are read and written with their lock held.
 */
#ifndef YAFFS2_H
#define YAFFS2_H

#include <linux/fs.h>
#include <linux/fs_context.h>
#include <linux/mtd/mtd.h>
#include <linux/mutex.h>
#include <linux/wait.h>

#include "compat.h"
#include "core.h"

#define YL_NAME_MAX (YAFFS_MAX_NAME_LENGTH - 1) /* what the core stores */

/* Mount options; options.c has their names. */
struct yl_options {
	bool inband_tags; /* tags in the data area even if the OOB has room */
	bool tags_ecc;	  /* the tags have an ECC of their own */
	bool cache; /* writes of less than a page gather in the core's cache */
	bool checkpoint_read;  /* mount from the checkpoint, if there is one */
	bool checkpoint_write; /* write one at unmount and sync */
	bool empty_lost_found; /* delete what is in lost+found when mounting */
	bool lazy_load;	       /* read names and owners when they are needed */
	bool summary;	       /* the last pages of a block repeat its tags */
	bool background;       /* collect garbage in a thread too */
};

/* Calls into MTD that reached the flash, in pages and blocks. */
struct yl_flash_counts {
	u64 page_reads; /* data, with or without OOB */
	u64 oob_reads;	/* OOB alone */
	u64 page_writes;
	u64 oob_writes; /* YAFFS1's deletion marks */
	u64 erasures;
	u64 write_failures;
	u64 erase_failures;
	u64 collection_read_failures; /* live chunks that could not be read */
	u64 lost_chunks;	      /* accepted, but could not be written */
};

/* What the core gave up writing while the lock was held; see sync.c. */
struct yl_loss {
	u32 own;    /* object whose losses the lock's holder returns, or 0 */
	u32 object; /* object and chunk of the last write, if it failed */
	u32 chunk;
	bool of_own; /* something of the holder's own object is lost */
	bool of_any;
};

struct yl_fs {
	struct yaffs_dev dev; /* the core's; its os_context points back here */
	struct mutex lock;
	unsigned int alloc_scope; /* of the lock's holder, see yl_lock() */
	struct super_block *sb;
	struct mtd_info *mtd;
	struct yl_options options;
	struct yl_flash_counts counts;	     /* since mounting was done */
	struct yl_flash_counts mount_counts; /* of mounting itself */
	u32 checkpoints;		     /* saved since mounting */
	int read_error;	 /* of the lock's holder: the core drops these */
	int write_error; /* of the last write attempt; 0: it succeeded */
	struct yl_loss loss;
	int erase_failed;	   /* block that is to be marked bad, or -1 */
	unsigned long *not_erased; /* read-only: blocks yet to be erased */
	unsigned int promised;	   /* pages that mappings made dirty, map.c */
	struct task_struct *collector;
	wait_queue_head_t collector_wait;
	struct list_head mounted; /* in the list of all, proc.c */
	struct list_head cursors; /* open directories, dir.c */
};

static inline struct yl_fs *yl_of_dev(struct yaffs_dev *dev)
{
	return dev->os_context;
}

static inline struct yl_fs *yl_of(const struct inode *inode)
{
	return inode->i_sb->s_fs_info;
}

static inline struct yaffs_obj *yl_obj(const struct inode *inode)
{
	return inode->i_private;
}

/* super.c */
void yl_lock(struct yl_fs *fs);
void yl_lock_for(struct yl_fs *fs, struct yaffs_obj *own);
void yl_unlock(struct yl_fs *fs);
int yl_fill_super(struct super_block *sb, struct fs_context *fc);
int yl_remount(struct super_block *sb, bool read_only);

/* options.c */
int yl_init_fs_context(struct fs_context *fc);
int yl_show_options(struct seq_file *seq, struct dentry *root);

/* sync.c */
void yl_note_bad_copy(struct yl_fs *fs, int chunk,
		      const struct yaffs_ext_tags *tags);
void yl_note_write(struct yl_fs *fs, const struct yaffs_ext_tags *tags,
		   int err);
void yl_settle_losses(struct yl_fs *fs);
int yl_flush_object(struct yl_fs *fs, struct yaffs_obj *obj, bool data_only);
int yl_flush_all(struct yl_fs *fs, bool checkpoint);
unsigned int yl_urgency(struct yl_fs *fs);
int yl_collector_start(struct yl_fs *fs);
void yl_collector_stop(struct yl_fs *fs);

/* mtdif.c, tags1.c, tags2.c */
int yl_choose_layout(struct yl_fs *fs);
int yl_mtd_read(struct yl_fs *fs, int chunk, u8 *data, void *oob,
		unsigned int oob_bytes);
int yl_mtd_write(struct yl_fs *fs, int chunk, const u8 *data, const void *oob,
		 unsigned int oob_bytes);
int yl_erase_pending(struct yl_fs *fs);
void yl_note_read(struct yl_fs *fs, int chunk,
		  const struct yaffs_ext_tags *tags);
int yl_tags1_write(struct yaffs_dev *dev, int chunk, const u8 *data,
		   const struct yaffs_ext_tags *tags);
int yl_tags1_read(struct yaffs_dev *dev, int chunk, u8 *data,
		  struct yaffs_ext_tags *tags);
int yl_tags2_write(struct yaffs_dev *dev, int chunk, const u8 *data,
		   const struct yaffs_ext_tags *tags);
int yl_tags2_read(struct yaffs_dev *dev, int chunk, u8 *data,
		  struct yaffs_ext_tags *tags);

/* inode.c */
struct inode *yl_iget(struct super_block *sb, u32 number);
void yl_times_from_obj(struct inode *inode);
void yl_times_to_obj(struct inode *inode);
void yl_set_ctime(struct inode *inode, struct timespec64 time);
void yl_evict_inode(struct inode *inode);
void yl_changed(struct inode *inode);
int yl_setattr(IDMAP_ARG struct dentry *dentry, struct iattr *attr);

/* map.c */
bool yl_room(struct yl_fs *fs, unsigned int chunks);
int yl_mmap(struct file *file, struct vm_area_struct *vma);
void yl_promise_end(struct page *page);
void yl_invalidate(INVALIDATE_ARGS);

/* file.c, dir.c, namei.c, symlink.c, xattr.c */
bool yl_is_readable(struct yaffs_obj *obj, loff_t at);
int yl_store_page(struct page *page);
extern const struct file_operations yl_file_operations;
extern const struct inode_operations yl_file_inode_operations;
extern const struct address_space_operations yl_address_operations;
extern const struct file_operations yl_dir_operations;
extern const struct inode_operations yl_dir_inode_operations;
extern const struct inode_operations yl_symlink_inode_operations;
extern const struct inode_operations yl_special_inode_operations;
extern const struct xattr_handler *XATTR_LIST_CONST yl_xattr_handlers[];
ssize_t yl_listxattr(struct dentry *dentry, char *list, size_t bytes);
void yl_cursors_replace(struct yl_fs *fs, struct yaffs_obj *dir, u32 old,
			u32 new);

/* proc.c */
int yl_proc_init(void);
void yl_proc_exit(void);
void yl_proc_add(struct yl_fs *fs);
void yl_proc_remove(struct yl_fs *fs);

/* memory.c */
void yl_memory(size_t *now, size_t *peak);

#endif
