// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Symbolic links. Their text is in the object's header.
 */
#include <linux/slab.h>

#include "yaffs2.h"

static const char *get_link(struct dentry *dentry, struct inode *inode,
			    struct delayed_call *done)
{
	struct yl_fs *fs = yl_of(inode);
	char *text, *copy = NULL;
	int err;

	if (!dentry)
		return ERR_PTR(-ECHILD); /* this may sleep */
	yl_lock(fs);
	text = yaffs_get_symlink_alias(yl_obj(inode));
	if (text)
		copy = kstrdup(text, GFP_KERNEL);
	yl_free(text);
	err = fs->read_error;
	yl_unlock(fs);
	if (!copy || err) {
		kfree(copy);
		return ERR_PTR(err ? err : -ENOMEM);
	}
	set_delayed_call(done, kfree_link, copy);
	return copy;
}

const struct inode_operations yl_symlink_inode_operations = {
	.get_link = get_link,
	.setattr = yl_setattr,
	.listxattr = yl_listxattr,
};
