// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Mounting, unmounting, and operations on the file system as a whole.
 */
#include <linux/bitmap.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/statfs.h>

#include "yaffs2.h"

#define RESERVED_BLOCKS	  5 /* as YAFFS2's own port: for garbage collection */
#define CACHED_CHUNKS	  10
#define REFRESH_PERIOD	  500 /* collections between two of the oldest block */
#define YAFFS1_CHUNKS_MAX ((1 << 20) - 1) /* bits of the tags' chunk_id */

/*
 * The core calls MTD, and allocates memory. Reclaim must not come back here
 * then: to drop an inode, or write a page, it would take this lock again.
 */
void yl_lock(struct yl_fs *fs)
{
	mutex_lock(&fs->lock);
	fs->alloc_scope = memalloc_nofs_save();
	fs->read_error = 0;
	fs->write_error = 0;
	fs->loss = (struct yl_loss){};
}

/* For callers that return the errors of this object to their own caller. */
void yl_lock_for(struct yl_fs *fs, struct yaffs_obj *own)
{
	yl_lock(fs);
	fs->loss.own = own->obj_id;
}

void yl_unlock(struct yl_fs *fs)
{
	unsigned int scope = fs->alloc_scope;

	yl_settle_losses(fs);
	mutex_unlock(&fs->lock);
	memalloc_nofs_restore(scope);
}

static int statfs(struct dentry *dentry, struct kstatfs *buf)
{
	struct yl_fs *fs = dentry->d_sb->s_fs_info;
	struct yaffs_param *param = &fs->dev.param;

	yl_lock(fs);
	buf->f_type = YAFFS_MAGIC;
	buf->f_bsize = fs->dev.data_bytes_per_chunk;
	buf->f_blocks = (u64)(param->end_block - param->start_block + 1) *
			param->chunks_per_block;
	buf->f_bfree = yaffs_get_n_free_chunks(&fs->dev);
	buf->f_bavail = buf->f_bfree;
	buf->f_files = YAFFS_MAX_OBJECT_ID;
	buf->f_ffree = YAFFS_MAX_OBJECT_ID - fs->dev.n_obj;
	buf->f_namelen = YL_NAME_MAX;
	buf->f_fsid = u64_to_fsid(huge_encode_dev(dentry->d_sb->s_dev));
	yl_unlock(fs);
	return 0;
}

static int sync_fs(struct super_block *sb, int wait)
{
	struct yl_fs *fs = sb->s_fs_info;
	int err;

	if (!wait || sb_rdonly(sb))
		return 0;
	yl_lock(fs);
	/* no checkpoint if the collector would soon erase it */
	err = yl_flush_all(fs, !yl_urgency(fs));
	yl_unlock(fs);
	return err;
}

/*
 * The kernel also calls this by itself, some time after an inode changed: what
 * is in the core's cache reaches the flash even if nobody syncs it. An object
 * without a name need not: it would not survive a power cut. The next sync
 * returns an error of this.
 */
static int write_inode(struct inode *inode, struct writeback_control *wbc)
{
	struct yl_fs *fs = yl_of(inode);
	struct yaffs_obj *obj = yl_obj(inode);
	int err = 0;

	yl_lock_for(fs, obj);
	if (!fs->dev.read_only && !obj->unlinked)
		err = yl_flush_object(fs, obj, false);
	yl_unlock(fs);
	mapping_set_error(inode->i_mapping, err);
	return err;
}

/* Nobody writes now; the collector must not either. */
static int freeze_fs(struct super_block *sb)
{
	struct yl_fs *fs = sb->s_fs_info;
	int err;

	if (sb_rdonly(sb))
		return 0;
	yl_collector_stop(fs);
	yl_lock(fs);
	err = yl_flush_all(fs, true);
	yl_unlock(fs);
	if (err)
		yl_collector_start(fs);
	return err;
}

static int unfreeze_fs(struct super_block *sb)
{
	return sb_rdonly(sb) ? 0 : yl_collector_start(sb->s_fs_info);
}

static void free_fs(struct yl_fs *fs)
{
	bitmap_free(fs->not_erased);
	kfree(fs);
}

/*
 * The core frees its objects a hundred at a time, and does not free the text
 * that those of symbolic links point to.
 */
static void stop_core(struct yl_fs *fs)
{
	struct yaffs_obj *obj;
	int i;

	yl_settle_losses(fs); /* while the objects still exist */
	for (i = 0; fs->dev.is_mounted && i < YAFFS_NOBJECT_BUCKETS; i++) {
		list_for_each_entry (obj, &fs->dev.obj_bucket[i].list,
				     hash_link)
			if (obj->variant_type == YAFFS_OBJECT_TYPE_SYMLINK)
				yl_free(obj->variant.symlink_variant.alias);
	}
	yaffs_deinitialise(&fs->dev);
}

static void put_super(struct super_block *sb)
{
	struct yl_fs *fs = sb->s_fs_info;
	int err = 0;

	yl_collector_stop(fs);
	yl_proc_remove(fs);
	yl_lock(fs);
	if (!fs->dev.read_only)
		err = yl_flush_all(fs, true);
	if (err)
		pr_err("yaffs2: mtd%d: error %d while unmounting\n",
		       fs->mtd->index, err);
	stop_core(fs);
	yl_unlock(fs);
	sb->s_fs_info = NULL;
	free_fs(fs);
}

static const struct super_operations super_operations = {
	.statfs = statfs,
	.sync_fs = sync_fs,
	.write_inode = write_inode,
	.freeze_fs = freeze_fs,
	.unfreeze_fs = unfreeze_fs,
	.put_super = put_super,
	.evict_inode = yl_evict_inode,
	.show_options = yl_show_options,
};

static void set_read_only(struct yl_fs *fs, bool read_only)
{
	yl_lock(fs);
	fs->dev.read_only = read_only;
	yl_unlock(fs);
}

/* Write pages that mappings made dirty first: afterwards nobody can. */
static int become_read_only(struct super_block *sb)
{
	struct yl_fs *fs = sb->s_fs_info;
	int err = sync_filesystem(sb);

	if (err)
		return err;
	yl_collector_stop(fs);
	yl_lock(fs);
	err = yl_flush_all(fs, true);
	fs->dev.read_only = !err;
	yl_unlock(fs);
	if (err)
		yl_collector_start(fs);
	return err;
}

static int become_writable(struct yl_fs *fs)
{
	int err;

	if (!(fs->mtd->flags & MTD_WRITEABLE))
		return -EROFS;
	yl_lock(fs);
	err = yl_erase_pending(fs);
	yl_unlock(fs);
	if (err)
		return err;
	set_read_only(fs, false);
	err = yl_collector_start(fs);
	if (err)
		set_read_only(fs, true);
	return err;
}

int yl_remount(struct super_block *sb, bool read_only)
{
	struct yl_fs *fs = sb->s_fs_info;

	if (read_only == (bool)fs->dev.read_only)
		return 0;
	return read_only ? become_read_only(sb) : become_writable(fs);
}

static struct yl_fs *new_fs(struct super_block *sb,
			    const struct yl_options *options)
{
	struct yl_fs *fs = kzalloc(sizeof(*fs), GFP_KERNEL);
	u32 blocks = mtd_div_by_eb(sb->s_mtd->size, sb->s_mtd);

	if (!fs)
		return NULL;
	fs->not_erased = bitmap_zalloc(blocks, GFP_KERNEL);
	if (!fs->not_erased) {
		kfree(fs);
		return NULL;
	}
	mutex_init(&fs->lock);
	init_waitqueue_head(&fs->collector_wait);
	INIT_LIST_HEAD(&fs->cursors);
	INIT_LIST_HEAD(&fs->mounted);
	fs->sb = sb;
	fs->mtd = sb->s_mtd;
	fs->options = *options;
	fs->erase_failed = -1;
	fs->dev.os_context = fs;
	fs->dev.driver_context = fs->mtd;
	return fs;
}

static void set_parameters(struct yl_fs *fs)
{
	const struct yl_options *options = &fs->options;
	struct yaffs_param *param = &fs->dev.param;

	fs->dev.read_only = sb_rdonly(fs->sb);
	param->name = fs->mtd->name;
	param->n_reserved_blocks = RESERVED_BLOCKS;
	param->n_caches = options->cache ? CACHED_CHUNKS : 0;
	param->empty_lost_n_found =
		options->empty_lost_found && !fs->dev.read_only;
	param->refresh_period = REFRESH_PERIOD;
	param->skip_checkpt_rd = !options->checkpoint_read;
	param->skip_checkpt_wr = !options->checkpoint_write;
	param->enable_xattr = 1;
	param->disable_lazy_load = !options->lazy_load;
	param->disable_summary = !options->summary;
}

static loff_t largest_file(struct yaffs_dev *dev)
{
	loff_t most = yaffs_max_file_size(dev);

	if (!dev->param.is_yaffs2)
		return (loff_t)YAFFS1_CHUNKS_MAX * dev->data_bytes_per_chunk;
	/* the scan computes offsets in a file with 32 bits */
	return min_t(loff_t, most, U32_MAX - dev->data_bytes_per_chunk);
}

static int start_core(struct yl_fs *fs)
{
	int err = 0;

	yl_lock(fs);
	if (yaffs_guts_initialise(&fs->dev) != YAFFS_OK) {
		err = fs->read_error ? fs->read_error : -ENOMEM;
		fs->loss = (struct yl_loss){}; /* objects are gone, too */
	}
	fs->mount_counts = fs->counts;
	fs->counts = (struct yl_flash_counts){};
	/* the core clears its counts before it erases an old checkpoint */
	fs->dev.n_page_reads = 0;
	fs->dev.n_page_writes = 0;
	fs->dev.n_erasures = 0;
	yl_unlock(fs);
	if (err)
		pr_err("yaffs2: mtd%d cannot be mounted: error %d\n",
		       fs->mtd->index, err);
	return err;
}

static int make_root(struct super_block *sb)
{
	struct inode *root = yl_iget(sb, YAFFS_OBJECTID_ROOT);

	if (IS_ERR(root))
		return PTR_ERR(root);
	sb->s_root = d_make_root(root);
	return sb->s_root ? 0 : -ENOMEM;
}

/* Once there is a root, an error is cleaned up by put_super(). */
int yl_fill_super(struct super_block *sb, struct fs_context *fc)
{
	struct yl_fs *fs;
	int err;

	if (!(sb->s_mtd->flags & MTD_WRITEABLE))
		sb->s_flags |= SB_RDONLY;
	fs = new_fs(sb, fc->fs_private);
	if (!fs)
		return -ENOMEM;
	set_parameters(fs);
	err = yl_choose_layout(fs);
	if (!err)
		err = start_core(fs);
	if (err) {
		free_fs(fs);
		return err;
	}
	sb->s_fs_info = fs;
	sb->s_magic = YAFFS_MAGIC;
	sb->s_op = &super_operations;
	sb->s_xattr = yl_xattr_handlers;
	sb->s_flags |= SB_NOATIME;
	sb->s_blocksize = PAGE_SIZE;
	sb->s_blocksize_bits = PAGE_SHIFT;
	sb->s_maxbytes = largest_file(&fs->dev);
	sb->s_time_gran = NSEC_PER_SEC;
	sb->s_time_min = 0;
	sb->s_time_max = U32_MAX;
	err = make_root(sb);
	if (err) {
		yl_lock(fs);
		stop_core(fs);
		yl_unlock(fs);
		free_fs(fs);
		sb->s_fs_info = NULL;
		return err;
	}
	yl_proc_add(fs);
	return sb_rdonly(sb) ? 0 : yl_collector_start(fs);
}
