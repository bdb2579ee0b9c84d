// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writing to flash what the core still holds in RAM: objects, directories, the
 * checkpoint. And the collector, the thread for background work, which runs at
 * the intervals of YAFFS2's own port.
 *
 * The core reports few errors here. If it could not write something in all its
 * attempts, its last write has failed. If there was no page left to try, the
 * allocator has no block.
 */
#include <linux/jiffies.h>
#include <linux/kthread.h>

#include "yaffs2.h"

/* Report a loss to the next sync of the object or, if it has no inode, to the
 * next sync of the file system. */
static void tell(struct yl_fs *fs, struct yaffs_obj *obj)
{
	struct inode *inode = obj->my_inode;

	if (inode)
		mapping_set_error(inode->i_mapping, -EIO);
	else
		errseq_set(&fs->sb->s_wb_err, -EIO);
}

/*
 * Garbage collection in the core copies what it read of a page that cannot be
 * read, and the copy has a valid ECC: from now on the file's bytes are wrong
 * there, and reading them gives no error.
 */
void yl_note_bad_copy(struct yl_fs *fs, int chunk,
		      const struct yaffs_ext_tags *tags)
{
	struct yaffs_obj *obj = yaffs_find_by_number(&fs->dev, tags->obj_id);

	fs->counts.collection_read_failures++;
	pr_warn_ratelimited("yaffs2: mtd%d: page %d of object %u cannot be "
			    "read and was collected\n",
			    fs->mtd->index, chunk, tags->obj_id);
	if (obj)
		tell(fs, obj);
}

/*
 * A chunk is lost when the last attempt to write it failed and the core goes on
 * to another: the core silently drops it from its cache. It may belong to
 * another file than the caller works on; the next sync of its file returns the
 * error. A chunk that garbage collection cannot copy is not lost: the old one
 * stays.
 */
static void lose(struct yl_fs *fs)
{
	struct yl_loss *loss = &fs->loss;
	struct yaffs_obj *obj = yaffs_find_by_number(&fs->dev, loss->object);

	loss->object = 0;
	if (!obj)
		return;
	fs->counts.lost_chunks++;
	loss->of_any = true;
	if (obj->obj_id == loss->own)
		loss->of_own = true;
	else
		tell(fs, obj);
}

void yl_settle_losses(struct yl_fs *fs)
{
	if (fs->loss.object)
		lose(fs);
}

/* Called for each attempt of the core to write a chunk. */
void yl_note_write(struct yl_fs *fs, const struct yaffs_ext_tags *tags, int err)
{
	struct yl_loss *loss = &fs->loss;
	bool again =
		loss->object == tags->obj_id && loss->chunk == tags->chunk_id;

	if (tags->is_deleted || fs->dev.gc_disable)
		return;
	if (loss->object && !again)
		lose(fs);
	loss->object = err ? tags->obj_id : 0;
	loss->chunk = tags->chunk_id;
}

static int lost(struct yl_fs *fs)
{
	struct yaffs_dev *dev = &fs->dev;

	yl_settle_losses(fs);
	if (fs->write_error == -EROFS)
		return -EROFS;
	if (fs->write_error ||
	    (fs->loss.own ? fs->loss.of_own : fs->loss.of_any))
		return -EIO;
	return dev->n_erased_blocks < 1 && dev->alloc_block < 0 ? -ENOSPC : 0;
}

int yl_flush_object(struct yl_fs *fs, struct yaffs_obj *obj, bool data_only)
{
	int err;

	if (!obj->dirty)
		return 0;
	err = core_flush_file(obj, data_only) == YAFFS_OK ? 0 : -ENOSPC;
	return lost(fs) ? lost(fs) : err;
}

/* A flush can collect garbage and so change any list: search from the start
 * again. */
static struct yaffs_obj *dirty_object(struct yaffs_dev *dev)
{
	struct yaffs_obj *obj;
	int i;

	for (i = 0; i < YAFFS_NOBJECT_BUCKETS; i++)
		list_for_each_entry (obj, &dev->obj_bucket[i].list, hash_link)
			if (obj->dirty && !obj->unlinked && !obj->deleted &&
			    !obj->fake &&
			    obj->variant_type != YAFFS_OBJECT_TYPE_HARDLINK)
				return obj;
	return NULL;
}

int yl_flush_all(struct yl_fs *fs, bool checkpoint)
{
	struct yaffs_dev *dev = &fs->dev;
	struct yaffs_obj *obj;
	int err = 0;

	yaffs_update_dirty_dirs(dev);
	while (!err && (obj = dirty_object(dev)))
		err = yl_flush_object(fs, obj, false);
	core_flush_cache(dev);
	if (!err)
		err = lost(fs);
	if (!err && checkpoint && !dev->is_checkpointed &&
	    dev->param.is_yaffs2 && !dev->param.skip_checkpt_wr) {
		if (yaffs_checkpoint_save(dev))
			fs->checkpoints++;
		err = fs->write_error ? -EIO : 0;
	}
	return err;
}

/* How much free space is scattered over blocks that are not erased: 0 to 2. */
unsigned int yl_urgency(struct yl_fs *fs)
{
	struct yaffs_dev *dev = &fs->dev;
	int erased = dev->n_erased_blocks * dev->param.chunks_per_block;
	int scattered = max(dev->n_free_chunks - erased, 0);

	if (!fs->collector || scattered < 2 * (int)dev->param.chunks_per_block)
		return 0;
	if (erased > dev->n_free_chunks / 2)
		return 0;
	return erased > dev->n_free_chunks / 4 ? 1 : 2;
}

static unsigned long collect(struct yl_fs *fs)
{
	unsigned int urgency;

	if (fs->dev.is_checkpointed)
		return HZ; /* nothing has changed since */
	urgency = yl_urgency(fs);
	yaffs_bg_gc(&fs->dev, urgency);
	if (urgency > 1)
		return HZ / 20 + 1;
	return urgency ? HZ / 10 + 1 : 2 * HZ;
}

static int run_collector(void *data)
{
	struct yl_fs *fs = data;
	unsigned long next_dirs = jiffies, next_collection = jiffies, now, next;

	while (!kthread_should_stop()) {
		yl_lock(fs);
		now = jiffies;
		if (time_after_eq(now, next_dirs)) {
			yaffs_update_dirty_dirs(&fs->dev);
			next_dirs = now + HZ;
		}
		if (time_after_eq(now, next_collection))
			next_collection = now + collect(fs);
		yl_unlock(fs);
		next = time_before(next_collection, next_dirs) ? next_collection
							       : next_dirs;
		now = jiffies;
		wait_event_interruptible_timeout(
			fs->collector_wait, kthread_should_stop(),
			time_after(next, now) ? next - now : 1);
	}
	return 0;
}

/* Without this thread, which writes directories later, they are written at
 * once. */
int yl_collector_start(struct yl_fs *fs)
{
	struct task_struct *thread;

	if (!fs->options.background)
		return 0;
	thread = kthread_create(run_collector, fs, "yaffs-bg-mtd%d",
				fs->mtd->index);
	if (IS_ERR(thread))
		return PTR_ERR(thread);
	fs->collector = thread;
	fs->dev.param.defered_dir_update = 1;
	wake_up_process(thread);
	return 0;
}

void yl_collector_stop(struct yl_fs *fs)
{
	if (fs->collector)
		kthread_stop(fs->collector);
	fs->collector = NULL;
	fs->dev.param.defered_dir_update = 0;
}
