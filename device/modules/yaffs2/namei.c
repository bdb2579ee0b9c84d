// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names: look up, make, link, remove, rename. The VFS holds the directories'
 * locks, so an entry found here stays until we are done.
 */
#include <linux/cred.h>

#include "yaffs2.h"

static struct dentry *lookup(struct inode *dir, struct dentry *dentry,
			     unsigned int flags)
{
	struct yl_fs *fs = yl_of(dir);
	struct inode *inode = NULL;
	struct yaffs_obj *obj;
	u32 number = 0;
	int err;

	if (dentry->d_name.len > YL_NAME_MAX)
		return ERR_PTR(-ENAMETOOLONG);
	yl_lock(fs);
	obj = yaffs_find_by_name(yl_obj(dir), dentry->d_name.name);
	obj = yaffs_get_equivalent_obj(obj);
	if (obj)
		number = obj->obj_id;
	err = fs->read_error;
	yl_unlock(fs);
	if (err)
		return ERR_PTR(err);
	if (number)
		inode = yl_iget(dir->i_sb, number);
	return d_splice_alias(inode, dentry);
}

/* The error to return when the core has made no object. */
static int why_not(struct yl_fs *fs)
{
	if (fs->write_error)
		return fs->write_error == -EROFS ? -EROFS : -EIO;
	return yl_room(fs, 1) ? -ENOMEM : -ENOSPC;
}

/* The object to make. */
struct wish {
	umode_t mode;
	dev_t rdev;
	const char *target; /* of a symbolic link */
};

/* Kernels before 6.0 leave this check to the file system. */
static bool may_give_group(struct inode *dir)
{
	return in_group_p(dir->i_gid) || capable(CAP_FSETID);
}

static struct yaffs_obj *make_obj(struct inode *dir, const char *name,
				  const struct wish *wish)
{
	struct yaffs_obj *parent = yl_obj(dir);
	u32 uid = from_kuid(&init_user_ns, current_fsuid());
	u32 gid = from_kgid(&init_user_ns, current_fsgid());
	umode_t mode = wish->mode;

	if (dir->i_mode & S_ISGID) {
		gid = i_gid_read(dir);
		if (S_ISDIR(mode))
			mode |= S_ISGID;
		else if (mode & S_IXGRP && !may_give_group(dir))
			mode &= ~S_ISGID;
	}
	switch (mode & S_IFMT) {
	case S_IFREG:
		return yaffs_create_file(parent, name, mode, uid, gid);
	case S_IFDIR:
		return yaffs_create_dir(parent, name, mode, uid, gid);
	case S_IFLNK:
		return yaffs_create_symlink(parent, name, mode, uid, gid,
					    wish->target);
	default:
		return yaffs_create_special(parent, name, mode, uid, gid,
					    old_encode_dev(wish->rdev));
	}
}

static int make(struct inode *dir, struct dentry *dentry,
		const struct wish *wish)
{
	struct yl_fs *fs = yl_of(dir);
	struct yaffs_obj *obj;
	struct inode *inode;
	u32 number = 0;
	int err = 0;

	if (dentry->d_name.len > YL_NAME_MAX)
		return -ENAMETOOLONG;
	if (wish->rdev && !old_valid_dev(wish->rdev))
		return -EOVERFLOW; /* a header has 16 bits for it */
	yl_lock(fs);
	obj = yl_room(fs, 1) ? make_obj(dir, dentry->d_name.name, wish) : NULL;
	if (obj) {
		number = obj->obj_id;
		yl_times_from_obj(dir);
	} else {
		err = why_not(fs);
	}
	yl_unlock(fs);
	if (err)
		return err;
	inode = yl_iget(dir->i_sb, number);
	if (IS_ERR(inode)) {
		yl_lock(fs);
		yaffs_unlinker(yl_obj(dir), dentry->d_name.name);
		yl_unlock(fs);
		return PTR_ERR(inode);
	}
	if (S_ISDIR(wish->mode))
		inc_nlink(dir);
	d_instantiate(dentry, inode);
	return 0;
}

static int create(IDMAP_ARG struct inode *dir, struct dentry *dentry,
		  umode_t mode, bool exclusive)
{
	struct wish wish = {.mode = (mode & S_IALLUGO) | S_IFREG};

	return make(dir, dentry, &wish);
}

static int mkdir(IDMAP_ARG struct inode *dir, struct dentry *dentry,
		 umode_t mode)
{
	struct wish wish = {.mode = (mode & S_IALLUGO) | S_IFDIR};

	return make(dir, dentry, &wish);
}

static int mknod(IDMAP_ARG struct inode *dir, struct dentry *dentry,
		 umode_t mode, dev_t rdev)
{
	struct wish wish = {.mode = mode, .rdev = rdev};

	return make(dir, dentry, &wish);
}

static int symlink(IDMAP_ARG struct inode *dir, struct dentry *dentry,
		   const char *target)
{
	struct wish wish = {.mode = S_IFLNK | 0777, .target = target};

	if (strlen(target) > YAFFS_MAX_ALIAS_LENGTH)
		return -ENAMETOOLONG;
	return make(dir, dentry, &wish);
}

/* Update the inode's link count and change time after its names changed. */
static void update_links(struct inode *inode)
{
	set_nlink(inode, yaffs_get_obj_link_count(yl_obj(inode)));
	yl_set_ctime(inode, (struct timespec64){.tv_sec = yl_now()});
}

static int link(struct dentry *old, struct inode *dir, struct dentry *dentry)
{
	struct inode *inode = d_inode(old);
	struct yl_fs *fs = yl_of(dir);
	int err = 0;

	if (dentry->d_name.len > YL_NAME_MAX)
		return -ENAMETOOLONG;
	yl_lock(fs);
	if (yl_room(fs, 1) &&
	    yaffs_link_obj(yl_obj(dir), dentry->d_name.name, yl_obj(inode))) {
		update_links(inode);
		yl_times_from_obj(dir);
	} else {
		err = why_not(fs);
	}
	yl_unlock(fs);
	if (err)
		return err;
	yl_changed(inode); /* a link's own header does not have the time */
	ihold(inode);
	d_instantiate(dentry, inode);
	return 0;
}

/* If the name to be removed is the object's own: the link whose name it takes
 * over. */
struct heir {
	struct yaffs_obj *dir;
	u32 number;
};

static struct heir heir_of(struct yaffs_obj *obj)
{
	struct yaffs_obj *other;

	if (!obj || list_empty(&obj->hard_links) ||
	    obj->variant_type == YAFFS_OBJECT_TYPE_HARDLINK)
		return (struct heir){};
	other = list_first_entry(&obj->hard_links, struct yaffs_obj,
				 hard_links);
	return (struct heir){.dir = other->parent, .number = other->obj_id};
}

static int unlink(struct inode *dir, struct dentry *dentry)
{
	struct inode *inode = d_inode(dentry);
	struct yl_fs *fs = yl_of(dir);
	struct heir heir;
	int err = 0;

	yl_lock(fs);
	heir = heir_of(yaffs_find_by_name(yl_obj(dir), dentry->d_name.name));
	if (yaffs_unlinker(yl_obj(dir), dentry->d_name.name) == YAFFS_OK) {
		if (heir.dir)
			yl_cursors_replace(fs, heir.dir, heir.number,
					   yl_obj(inode)->obj_id);
		update_links(inode);
		yl_times_from_obj(dir);
	} else {
		err = fs->write_error ? -EIO : -EPERM; /* lost+found stays */
	}
	yl_unlock(fs);
	if (!err && inode->i_nlink)
		yl_changed(inode);
	return err;
}

static int rmdir(struct inode *dir, struct dentry *dentry)
{
	struct inode *inode = d_inode(dentry);
	struct yl_fs *fs = yl_of(dir);
	int err = 0;

	yl_lock(fs);
	if (yaffs_is_non_empty_dir(yl_obj(inode)))
		err = -ENOTEMPTY;
	else if (yaffs_unlinker(yl_obj(dir), dentry->d_name.name) != YAFFS_OK)
		err = fs->write_error ? -EIO : -EPERM;
	else
		yl_times_from_obj(dir);
	yl_unlock(fs);
	if (err)
		return err;
	clear_nlink(inode);
	drop_nlink(dir);
	return 0;
}

/* Update the link counts of what a rename replaced, and of both directories. */
static void settle_rename(struct inode *old_dir, struct inode *new_dir,
			  struct inode *moved, struct inode *replaced)
{
	struct yaffs_obj *obj;

	yl_times_from_obj(old_dir);
	yl_times_from_obj(new_dir);
	if (S_ISDIR(moved->i_mode) && old_dir != new_dir) {
		drop_nlink(old_dir);
		inc_nlink(new_dir);
	}
	if (!replaced)
		return;
	obj = yl_obj(replaced);
	if (S_ISDIR(replaced->i_mode)) {
		clear_nlink(replaced);
		drop_nlink(new_dir);
		return;
	}
	/* the core does not clear this if other names remain, and then never
	 * writes the file's size again */
	if (!obj->unlinked)
		obj->is_shadowed = 0;
	update_links(replaced);
}

static int rename(IDMAP_ARG struct inode *old_dir, struct dentry *old,
		  struct inode *new_dir, struct dentry *new, unsigned int flags)
{
	struct inode *replaced = d_inode(new);
	struct yl_fs *fs = yl_of(old_dir);
	struct timespec64 before = inode_get_ctime(d_inode(old));
	struct heir heir = {};
	int err = 0;

	if (flags & ~RENAME_NOREPLACE)
		return -EINVAL;
	if (new->d_name.len > YL_NAME_MAX)
		return -ENAMETOOLONG;
	yl_lock(fs);
	if (replaced)
		heir = heir_of(
			yaffs_find_by_name(yl_obj(new_dir), new->d_name.name));
	/* before the core writes the header that has it */
	yl_set_ctime(d_inode(old), (struct timespec64){.tv_sec = yl_now()});
	if (replaced && yaffs_is_non_empty_dir(yl_obj(replaced)))
		err = -ENOTEMPTY;
	else if (yaffs_rename_obj(yl_obj(old_dir), old->d_name.name,
				  yl_obj(new_dir),
				  new->d_name.name) != YAFFS_OK)
		err = fs->write_error ? -EIO : -EPERM;
	if (!err) {
		if (heir.dir)
			yl_cursors_replace(fs, heir.dir, heir.number,
					   yl_obj(replaced)->obj_id);
		settle_rename(old_dir, new_dir, d_inode(old), replaced);
	} else {
		yl_set_ctime(d_inode(old), before);
	}
	yl_unlock(fs);
	if (!err && replaced && replaced->i_nlink)
		yl_changed(replaced);
	return err;
}

const struct inode_operations yl_dir_inode_operations = {
	.lookup = lookup,
	.create = create,
	.link = link,
	.unlink = unlink,
	.symlink = symlink,
	.mkdir = mkdir,
	.rmdir = rmdir,
	.mknod = mknod,
	.rename = rename,
	.setattr = yl_setattr,
	.listxattr = yl_listxattr,
};
