// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the core still holds in RAM goes to flash: objects, directories, the
 * checkpoint. And the collector, the thread that does what can be done while
 * nobody waits, at the intervals of YAFFS2's own port.
 *
 * The core tells of few errors here. What it could not write after all its
 * attempts was the last write that it tried; with no page left to try there is
 * nothing in the allocator.
 */
#include <linux/jiffies.h>
#include <linux/kthread.h>

#include "yaffs2.h"

static int lost(struct yl_fs *fs)
{
	struct yaffs_dev *dev = &fs->dev;

	if (fs->write_error)
		return fs->write_error == -EROFS ? -EROFS : -EIO;
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

/* A flush can collect garbage and so change any list: begin anew after each. */
static struct yaffs_obj *dirty_file(struct yaffs_dev *dev)
{
	struct yaffs_obj *obj;
	int i;

	for (i = 0; i < YAFFS_NOBJECT_BUCKETS; i++)
		list_for_each_entry (obj, &dev->obj_bucket[i].list, hash_link)
			if (obj->dirty && !obj->unlinked && !obj->fake &&
			    obj->variant_type == YAFFS_OBJECT_TYPE_FILE)
				return obj;
	return NULL;
}

int yl_flush_all(struct yl_fs *fs, bool checkpoint)
{
	struct yaffs_dev *dev = &fs->dev;
	struct yaffs_obj *obj;
	int err = 0;

	while (!err && (obj = dirty_file(dev)))
		err = yl_flush_object(fs, obj, false);
	yaffs_update_dirty_dirs(dev);
	core_flush_cache(dev);
	if (!err)
		err = lost(fs);
	if (!err && checkpoint && !dev->is_checkpointed &&
	    dev->param.is_yaffs2 && !dev->param.skip_checkpt_wr) {
		if (yaffs_checkpoint_save(dev))
			fs->checkpoints++;
		err = fs->write_error ? -EIO : 0;
	}
	fs->dirty = err;
	return err;
}

/* How much the free space is scattered over blocks that are not free: 0 to 2.
 */
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

/* Without a thread that does it later, directories are written at once. */
int yl_collector_start(struct yl_fs *fs)
{
	struct task_struct *thread;

	fs->dev.param.defered_dir_update = fs->options.background;
	if (!fs->options.background)
		return 0;
	thread = kthread_create(run_collector, fs, "yaffs-bg-mtd%d",
				fs->mtd->index);
	if (IS_ERR(thread))
		return PTR_ERR(thread);
	fs->collector = thread;
	wake_up_process(thread);
	return 0;
}

void yl_collector_stop(struct yl_fs *fs)
{
	if (fs->collector)
		kthread_stop(fs->collector);
	fs->collector = NULL;
}
