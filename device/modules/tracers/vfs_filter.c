// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which file systems VFSMon traces: the one that holds a path, the one on an
 * MTD device, all of a type (so that its mount can be traced), or all but proc,
 * sysfs and debugfs.
 */
#include <linux/fs.h>
#include <linux/major.h>
#include <linux/module.h>
#include <linux/mtd/mtd.h>
#include <linux/namei.h>
#include <linux/seq_file.h>

#include "compat.h"
#include "vfs.h"

#define WORD_MAX 256

/* The filter as it was given, to be looked up again at each start. */
static char how[8] = "all", what[WORD_MAX];
struct vfs_filter vfs_filter;

/* Operations of a regular file, if one of the file system is in memory; else
 * NULL. */
static const struct address_space_operations *file_ops(struct inode *inode)
{
	const struct address_space_operations *ops = NULL;
	struct super_block *sb = inode->i_sb;
	struct inode *other;

	if (S_ISREG(inode->i_mode))
		return inode->i_mapping->a_ops;
	spin_lock(&sb->s_inode_list_lock);
	list_for_each_entry (other, &sb->s_inodes, i_sb_list) {
		if (S_ISREG(other->i_mode) && other->i_mapping->a_ops) {
			ops = other->i_mapping->a_ops;
			break;
		}
	}
	spin_unlock(&sb->s_inode_list_lock);
	return ops;
}

static int start_mount(bool only_try)
{
	struct path path;
	int err = kern_path(what, LOOKUP_FOLLOW, &path);

	if (err)
		return tracers_refuse(err, "vfsmon: mount %s: %d", what, err);
	if (!only_try) {
		struct inode *inode = d_inode(path.dentry);

		vfs_filter.kind = FILTER_DEVICE;
		vfs_filter.device = inode->i_sb->s_dev;
		vfs_filter.type = inode->i_sb->s_type;
		__module_get(vfs_filter.type
				     ->owner); /* the mount holds it already */
		vfs_fs_resolve(file_ops(inode), inode->i_sb->s_type->name);
	}
	path_put(&path);
	return 0;
}

static int start_mtd(bool only_try)
{
	struct mtd_info *mtd;
	unsigned int number;

	if (kstrtouint(what, 10, &number))
		mtd = get_mtd_device_nm(what);
	else
		mtd = get_mtd_device(NULL, number);
	if (IS_ERR(mtd))
		return tracers_refuse(PTR_ERR(mtd),
				      "vfsmon: no MTD device '%s'", what);
	if (!only_try) {
		vfs_filter.kind = FILTER_DEVICE;
		vfs_filter.device = MKDEV(MTD_BLOCK_MAJOR, mtd->index);
		vfs_fs_resolve(NULL, NULL);
	}
	put_mtd_device(mtd);
	return 0;
}

static int start_type(bool only_try)
{
	struct file_system_type *found = get_fs_type(what);

	if (!found)
		return tracers_refuse(-ENODEV, "vfsmon: no file system '%s'",
				      what);
	if (only_try) {
		module_put(found->owner);
		return 0;
	}
	vfs_filter.kind = FILTER_TYPE;
	vfs_filter.type = found;
	vfs_fs_resolve(NULL, found->name);
	return 0;
}

static int start_all(bool only_try)
{
	if (only_try)
		return 0;
	vfs_filter.kind = FILTER_ALL;
	vfs_fs_resolve(NULL, NULL);
	return 0;
}

static const struct {
	const char *word;
	int (*start)(bool only_try);
} kinds[] = {
	{"mount", start_mount},
	{"mtd", start_mtd},
	{"fs", start_type},
	{"all", start_all},
};

static int run(const char *word, bool only_try)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(word, kinds[i].word))
			return kinds[i].start(only_try);
	return -ENOTTY;
}

int vfs_filter_command(const char *word, char *rest)
{
	char was[WORD_MAX];
	int err;

	if (strcmp(word, "all") && !*rest)
		return -ENOTTY;
	if (strlen(rest) >= WORD_MAX)
		return tracers_refuse(-ENAMETOOLONG, "vfsmon: %s: too long",
				      word);
	strscpy(was, what, sizeof(was));
	strscpy(what, rest, sizeof(what));
	err = run(word, true);
	if (!err && vfsmon.state != MONITOR_STOPPED)
		err = tracers_refuse(-EBUSY, "vfsmon: %s: stop it first", word);
	if (err)
		strscpy(what, was, sizeof(what));
	else
		strscpy(how, word, sizeof(how));
	return err;
}

int vfs_filter_start(void)
{
	return run(how, false);
}

void vfs_filter_stop(void)
{
	if (vfs_filter.type)
		module_put(vfs_filter.type->owner);
	vfs_filter.type = NULL;
}

bool vfs_filter_holds_module(void)
{
	return vfs_filter.type;
}

void vfs_filter_status(struct seq_file *file)
{
	seq_printf(file, "vfsmon.filter %s %s\n", how, what);
}
