// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Inodes: each stands for one object of the core, and has its number. The
 * object points to its inode, and stays while that is in the kernel's cache,
 * even after its last name is removed.
 */
#include <linux/writeback.h>

#include "yaffs2.h"

static struct timespec64 seconds(u32 time)
{
	return (struct timespec64){.tv_sec = time};
}

void yl_times_from_obj(struct inode *inode)
{
	struct yaffs_obj *obj = yl_obj(inode);

	inode_set_atime_to_ts(inode, seconds(obj->yst_atime));
	inode_set_mtime_to_ts(inode, seconds(obj->yst_mtime));
	inode_set_ctime_to_ts(inode, seconds(obj->yst_ctime));
}

void yl_times_to_obj(struct inode *inode)
{
	struct yaffs_obj *obj = yl_obj(inode);

	obj->yst_atime = inode_get_atime(inode).tv_sec;
	obj->yst_mtime = inode_get_mtime(inode).tv_sec;
	obj->yst_ctime = inode_get_ctime(inode).tv_sec;
}

/* Call with the lock held. The core puts it into the header that it writes
 * next. */
void yl_set_ctime(struct inode *inode, struct timespec64 time)
{
	inode_set_ctime_to_ts(inode, time);
	yl_obj(inode)->yst_ctime = time.tv_sec;
}

/* A directory has a link for itself, its parent's entry, each child's "..". */
static unsigned int links(struct yaffs_obj *obj)
{
	struct yaffs_obj *child;
	unsigned int count = 2;

	if (obj->variant_type != YAFFS_OBJECT_TYPE_DIRECTORY)
		return yaffs_get_obj_link_count(obj);
	list_for_each_entry (child, &obj->variant.dir_variant.children,
			     siblings)
		count += child->variant_type == YAFFS_OBJECT_TYPE_DIRECTORY;
	return count;
}

/* The object's kind decides, not the mode that an older header may have. */
static umode_t mode_of(struct yaffs_obj *obj)
{
	umode_t mode = obj->yst_mode & S_IALLUGO;

	switch (obj->variant_type) {
	case YAFFS_OBJECT_TYPE_FILE:
		return mode | S_IFREG;
	case YAFFS_OBJECT_TYPE_DIRECTORY:
		return mode | S_IFDIR;
	case YAFFS_OBJECT_TYPE_SYMLINK:
		return mode | S_IFLNK;
	default:
		return obj->yst_mode;
	}
}

/* The scan believes a header that it could not read, and may give an object a
 * kind that it was not made as. What would be a folder's list of children is
 * then a file's size, which is below every address of the kernel. */
static bool is_of_its_kind(struct yaffs_obj *obj)
{
	switch (obj->variant_type) {
	case YAFFS_OBJECT_TYPE_FILE:
	case YAFFS_OBJECT_TYPE_SYMLINK:
		return true;
	case YAFFS_OBJECT_TYPE_DIRECTORY:
		return (unsigned long)obj->variant.dir_variant.children.next >=
		       PAGE_OFFSET;
	case YAFFS_OBJECT_TYPE_SPECIAL:
		return !S_ISREG(obj->yst_mode) && !S_ISDIR(obj->yst_mode) &&
		       !S_ISLNK(obj->yst_mode);
	default:
		return false;
	}
}

static void set_operations(struct inode *inode, struct yaffs_obj *obj)
{
	switch (inode->i_mode & S_IFMT) {
	case S_IFREG:
		inode->i_op = &yl_file_inode_operations;
		inode->i_fop = &yl_file_operations;
		inode->i_mapping->a_ops = &yl_address_operations;
		break;
	case S_IFDIR:
		inode->i_op = &yl_dir_inode_operations;
		inode->i_fop = &yl_dir_operations;
		break;
	case S_IFLNK:
		inode->i_op = &yl_symlink_inode_operations;
		break;
	default:
		inode->i_op = &yl_special_inode_operations;
		init_special_inode(inode, inode->i_mode,
				   old_decode_dev(obj->yst_rdev));
	}
}

/* -EIO: flash got the object's kind wrong. */
static int fill(struct inode *inode, struct yaffs_obj *obj)
{
	char name[YAFFS_MAX_NAME_LENGTH + 1];

	/* loads what lazy loading has left out: owner, times, a link's text */
	if (obj->lazy_loaded)
		yaffs_get_obj_name(obj, name, sizeof(name));
	if (!is_of_its_kind(obj)) {
		pr_err_ratelimited("yaffs2: mtd%d: object %u has a wrong kind "
				   "in its header, %d\n",
				   yl_of(inode)->mtd->index, obj->obj_id,
				   obj->variant_type);
		return -EIO;
	}
	inode->i_private = obj;
	inode->i_mode = mode_of(obj);
	i_uid_write(inode, obj->yst_uid);
	i_gid_write(inode, obj->yst_gid);
	yl_times_from_obj(inode);
	inode->i_size = yaffs_get_obj_length(obj);
	inode->i_blocks = (inode->i_size + 511) >> 9;
	set_nlink(inode, links(obj));
	set_operations(inode, obj);
	obj->my_inode = inode;
	return 0;
}

/* Call without the lock held: evicting an inode, which this may wait for, takes
 * it. */
struct inode *yl_iget(struct super_block *sb, u32 number)
{
	struct yl_fs *fs = sb->s_fs_info;
	struct inode *inode = iget_locked(sb, number);
	struct yaffs_obj *obj;
	int err = -ESTALE;

	if (!inode)
		return ERR_PTR(-ENOMEM);
	if (!(inode->i_state & I_NEW))
		return inode;
	yl_lock(fs);
	obj = yaffs_find_by_number(&fs->dev, number);
	if (obj)
		err = fill(inode, obj);
	if (fs->read_error)
		err = fs->read_error;
	yl_unlock(fs);
	if (err) {
		iget_failed(inode);
		return ERR_PTR(err);
	}
	unlock_new_inode(inode);
	return inode;
}

/*
 * Mark an object whose header on flash is older than what is in RAM. The
 * kernel's write-back or a sync will write it.
 */
void yl_changed(struct inode *inode)
{
	struct yl_fs *fs = yl_of(inode);

	yl_lock(fs);
	yl_obj(inode)->dirty = 1;
	yl_unlock(fs);
	mark_inode_dirty_sync(inode);
}

/* Delete an object that has no name any more. If the file system is read-only,
 * the next mount that may write does it. */
void yl_evict_inode(struct inode *inode)
{
	struct yaffs_obj *obj = yl_obj(inode);
	struct yl_fs *fs = yl_of(inode);

	truncate_inode_pages_final(&inode->i_data);
	clear_inode(inode);
	if (!obj)
		return;
	yl_lock(fs);
	if (!inode->i_nlink && !is_bad_inode(inode) && !fs->dev.read_only)
		yaffs_del_obj(obj);
	obj->my_inode = NULL;
	inode->i_private = NULL;
	yaffs_handle_defered_free(obj);
	yl_unlock(fs);
}

/*
 * YAFFS1 takes a file's size from the last chunk that a scan finds, so a file
 * that ends in a hole would come back shorter: write its last byte. If a file
 * was cut within a chunk, the core has written that chunk already.
 */
static bool end_is_on_flash(struct yaffs_obj *obj, loff_t size, bool grown)
{
	struct yaffs_dev *dev = obj->my_dev;
	bool written = !grown && size & (dev->data_bytes_per_chunk - 1);
	u8 last;

	if (dev->param.is_yaffs2 || !size || written)
		return true;
	return yaffs_file_rd(obj, &last, size - 1, 1) == 1 &&
	       yaffs_wr_file(obj, &last, size - 1, 1, 0) == 1;
}

/* The core rewrites the last chunk with whatever it read of it, right or
 * wrong. */
static int can_resize(struct inode *inode, loff_t size)
{
	struct yl_fs *fs = yl_of(inode);
	struct yaffs_obj *obj = yl_obj(inode);
	loff_t before;
	int err = 0;

	yl_lock(fs);
	before = obj->variant.file_variant.file_size;
	if (!yl_is_readable(obj, min(size, before)))
		err = -EIO;
	else if (size > before && !yl_room(fs, 1))
		err = -ENOSPC;
	yl_unlock(fs);
	return err;
}

/*
 * Drop pages past a new end first, and again when the core has cut the file: a
 * reader may have brought one back meanwhile.
 */
static int resize(struct inode *inode, loff_t size)
{
	struct yl_fs *fs = yl_of(inode);
	struct yaffs_obj *obj = yl_obj(inode);
	loff_t before;
	int err = can_resize(inode, size);

	if (err)
		return err;
	truncate_setsize(inode, size);
	yl_lock(fs);
	before = obj->variant.file_variant.file_size;
	if (yaffs_resize_file(obj, size) != YAFFS_OK)
		err = -EIO;
	else if (!end_is_on_flash(obj, size, size > before)) {
		if (size > before)
			yaffs_resize_file(obj, before);
		err = -ENOSPC;
	}
	if (!err && fs->write_error)
		err = fs->write_error == -EROFS ? -EROFS : -EIO;
	if (err)
		size = obj->variant.file_variant.file_size;
	yl_unlock(fs);
	truncate_setsize(inode, size);
	inode->i_blocks = (size + 511) >> 9;
	return err;
}

int yl_setattr(IDMAP_ARG struct dentry *dentry, struct iattr *attr)
{
	struct inode *inode = d_inode(dentry);
	struct yl_fs *fs = yl_of(inode);
	struct yaffs_obj *obj = yl_obj(inode);
	int err = setattr_prepare(IDMAP dentry, attr);

	if (err)
		return err;
	if (attr->ia_valid & ATTR_SIZE && attr->ia_size != i_size_read(inode)) {
		err = resize(inode, attr->ia_size);
		if (err)
			return err;
		/* truncate(2) passes no times, but must set them */
		inode_set_mtime_to_ts(inode, seconds(yl_now()));
		inode_set_ctime_to_ts(inode, seconds(yl_now()));
	}
	setattr_copy(IDMAP inode, attr);
	yl_lock(fs);
	obj->yst_mode = inode->i_mode;
	obj->yst_uid = i_uid_read(inode);
	obj->yst_gid = i_gid_read(inode);
	yl_times_to_obj(inode);
	if (yaffs_update_oh(obj, NULL, 1, 0, 0, NULL) < 0)
		err = fs->write_error ? -EIO : -ENOSPC;
	yl_unlock(fs);
	return err;
}
