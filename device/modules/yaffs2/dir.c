// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reading directories. The core adds new and renamed entries at the head of its
 * list, so a position in the list is of no use later. An open directory gets a
 * cursor when it is first read: the numbers of the entries that were there
 * then. A position is an index into the cursor. An entry that was removed
 * meanwhile is skipped; one that stays is returned exactly once.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "yaffs2.h"

#define DOTS 2

struct cursor {
	struct list_head others;
	struct yaffs_obj *dir;
	unsigned int count; /* entries, any of which may be gone */
	u32 numbers[];	    /* 0: known to be gone */
};

/*
 * An object with several names has one of them itself, and takes over another
 * when that one is removed. For readers, the entry taken over is still there.
 */
void yl_cursors_replace(struct yl_fs *fs, struct yaffs_obj *dir, u32 old,
			u32 new)
{
	struct cursor *cursor;
	unsigned int i;

	list_for_each_entry (cursor, &fs->cursors, others) {
		for (i = 0; i < cursor->count; i++)
			if (cursor->numbers[i] == new)
				cursor->numbers[i] = 0;
		for (i = 0; i < cursor->count; i++)
			if (cursor->dir == dir && cursor->numbers[i] == old)
				cursor->numbers[i] = new;
	}
}

static unsigned int count_entries(struct yaffs_obj *dir)
{
	struct list_head *entry;
	unsigned int count = 0;

	list_for_each (entry, &dir->variant.dir_variant.children)
		count++;
	return count;
}

/* Call with the lock held. */
static struct cursor *new_cursor(struct yl_fs *fs, struct yaffs_obj *dir)
{
	unsigned int count = count_entries(dir);
	struct yaffs_obj *entry;
	struct cursor *cursor;

	cursor = kvmalloc(struct_size(cursor, numbers, count), GFP_KERNEL);
	if (!cursor)
		return NULL;
	cursor->dir = dir;
	cursor->count = 0;
	list_for_each_entry (entry, &dir->variant.dir_variant.children,
			     siblings)
		cursor->numbers[cursor->count++] = entry->obj_id;
	list_add(&cursor->others, &fs->cursors);
	return cursor;
}

static void free_cursor(struct yl_fs *fs, struct cursor *cursor)
{
	if (!cursor)
		return;
	yl_lock(fs);
	list_del(&cursor->others);
	yl_unlock(fs);
	kvfree(cursor);
}

struct entry {
	char name[YAFFS_MAX_NAME_LENGTH + 1];
	u32 inode;
	unsigned int type;
};

/* Look up the entry at a position of the cursor: 1, 0 if it is gone, or an
 * error. */
static int look(struct yl_fs *fs, struct cursor *cursor, loff_t place,
		struct entry *entry)
{
	u32 number = cursor->numbers[place];
	struct yaffs_obj *obj;
	int result = 0;

	yl_lock(fs);
	obj = number ? yaffs_find_by_number(&fs->dev, number) : NULL;
	if (obj && obj->parent == cursor->dir) {
		yaffs_get_obj_name(obj, entry->name, sizeof(entry->name));
		entry->inode = yaffs_get_obj_inode(obj);
		entry->type = yaffs_get_obj_type(obj);
		result = fs->read_error ? fs->read_error : 1;
	}
	yl_unlock(fs);
	return result;
}

static int begin(struct file *file, struct dir_context *ctx)
{
	struct inode *inode = file_inode(file);
	struct yl_fs *fs = yl_of(inode);

	if (file->private_data && ctx->pos > DOTS)
		return 0;
	free_cursor(fs, file->private_data);
	yl_lock(fs);
	file->private_data = new_cursor(fs, yl_obj(inode));
	yl_unlock(fs);
	return file->private_data ? 0 : -ENOMEM;
}

/* One reader at a time for an open file: the kernel holds its position's
 * lock. */
static int iterate(struct file *file, struct dir_context *ctx)
{
	struct yl_fs *fs = yl_of(file_inode(file));
	struct entry *entry;
	int result;

	result = begin(file, ctx);
	if (result || !dir_emit_dots(file, ctx))
		return result;
	entry = kmalloc(sizeof(*entry), GFP_KERNEL);
	if (!entry)
		return -ENOMEM;
	for (; ctx->pos - DOTS < ((struct cursor *)file->private_data)->count;
	     ctx->pos++) {
		result = look(fs, file->private_data, ctx->pos - DOTS, entry);
		if (result < 0)
			break;
		if (result && !dir_emit(ctx, entry->name, strlen(entry->name),
					entry->inode, entry->type))
			break;
	}
	kfree(entry);
	return min(result, 0);
}

static int release(struct inode *inode, struct file *file)
{
	free_cursor(yl_of(inode), file->private_data);
	return 0;
}

static int fsync(struct file *file, loff_t start, loff_t end, int data_only)
{
	struct inode *inode = file_inode(file);
	struct yl_fs *fs = yl_of(inode);
	int told = file_check_and_advance_wb_err(file), err = 0;

	yl_lock_for(fs, yl_obj(inode));
	if (!fs->dev.read_only)
		err = yl_flush_object(fs, yl_obj(inode), false);
	yl_unlock(fs);
	return err ? err : told;
}

const struct file_operations yl_dir_operations = {
	.llseek = generic_file_llseek,
	.read = generic_read_dir,
	.iterate_shared = iterate,
	.release = release,
	.fsync = fsync,
};
