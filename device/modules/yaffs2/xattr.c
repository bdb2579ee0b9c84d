// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Extended attributes. The core keeps them behind an object's header, in the
 * same page, so there is room for few; on pages of 512 bytes there is none.
 */
#include <linux/slab.h>
#include <linux/xattr.h>

#include "yaffs2.h"

static bool no_room(struct yl_fs *fs)
{
	return fs->dev.data_bytes_per_chunk <= sizeof(struct yaffs_obj_hdr);
}

static int get(const struct xattr_handler *handler, struct dentry *dentry,
	       struct inode *inode, const char *suffix, void *value,
	       size_t bytes)
{
	const char *name = xattr_full_name(handler, suffix);
	struct yl_fs *fs = yl_of(inode);
	int result;

	if (no_room(fs))
		return -EOPNOTSUPP;
	yl_lock(fs);
	result = yaffs_get_xattrib(yl_obj(inode), name, value, bytes);
	if (fs->read_error)
		result = fs->read_error;
	yl_unlock(fs);
	return result;
}

static int set(const struct xattr_handler *handler,
	       IDMAP_ARG struct dentry *dentry, struct inode *inode,
	       const char *suffix, const void *value, size_t bytes, int flags)
{
	const char *name = xattr_full_name(handler, suffix);
	struct timespec64 before = inode_get_ctime(inode);
	struct yl_fs *fs = yl_of(inode);
	int result;

	if (no_room(fs))
		return -EOPNOTSUPP;
	yl_lock(fs);
	yl_set_ctime(inode, (struct timespec64){.tv_sec = yl_now()});
	if (value)
		result = yaffs_set_xattrib(yl_obj(inode), name, value, bytes,
					   flags);
	else
		result = yaffs_remove_xattrib(yl_obj(inode), name);
	if (fs->write_error)
		result = -EIO;
	if (result < 0)
		yl_set_ctime(inode, before);
	yl_unlock(fs);
	return min(result, 0);
}

/* Remove the names that the caller may not see. Returns the bytes left. */
static size_t visible(char *list, size_t bytes)
{
	size_t prefix = XATTR_TRUSTED_PREFIX_LEN, kept = 0, at, name;

	if (capable(CAP_SYS_ADMIN))
		return bytes;
	for (at = 0; at < bytes; at += name) {
		name = strlen(list + at) + 1;
		if (!strncmp(list + at, XATTR_TRUSTED_PREFIX, prefix))
			continue;
		memmove(list + kept, list + at, name);
		kept += name;
	}
	return kept;
}

/* The core cannot return the size alone, and needs one byte more than the
 * list. */
ssize_t yl_listxattr(struct dentry *dentry, char *list, size_t bytes)
{
	struct inode *inode = d_inode(dentry);
	struct yl_fs *fs = yl_of(inode);
	size_t room = fs->dev.data_bytes_per_chunk;
	char *whole;
	int result;

	if (no_room(fs))
		return 0;
	whole = kmalloc(room, GFP_KERNEL);
	if (!whole)
		return -ENOMEM;
	yl_lock(fs);
	result = yaffs_list_xattrib(yl_obj(inode), whole, room);
	if (result == -ENODATA)
		result = 0;
	if (fs->read_error)
		result = fs->read_error;
	yl_unlock(fs);
	if (result > 0)
		result = visible(whole, result);
	if (result > 0 && bytes && result > bytes)
		result = -ERANGE;
	if (result > 0 && bytes)
		memcpy(list, whole, result);
	kfree(whole);
	return result;
}

static const struct xattr_handler user_handler = {
	.prefix = XATTR_USER_PREFIX,
	.get = get,
	.set = set,
};

static const struct xattr_handler trusted_handler = {
	.prefix = XATTR_TRUSTED_PREFIX,
	.get = get,
	.set = set,
};

static const struct xattr_handler security_handler = {
	.prefix = XATTR_SECURITY_PREFIX,
	.get = get,
	.set = set,
};

const struct xattr_handler *XATTR_LIST_CONST yl_xattr_handlers[] = {
	&user_handler,
	&trusted_handler,
	&security_handler,
	NULL,
};
