// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Mount options, with the names of YAFFS2's own Linux port. Other names are
 * refused.
 */
#include <linux/fs_parser.h>
#include <linux/mtd/super.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "yaffs2.h"

enum word {
	INBAND_TAGS,
	TAGS_ECC_ON,
	TAGS_ECC_OFF,
	NO_CACHE,
	NO_CHECKPOINT_READ,
	NO_CHECKPOINT_WRITE,
	NO_CHECKPOINT,
	EMPTY_LOST_FOUND_ON,
	EMPTY_LOST_FOUND_OFF,
	LAZY_LOADING_ON,
	LAZY_LOADING_OFF,
	DISABLE_SUMMARY,
	BACKGROUND,
	NO_BACKGROUND,
};

static const struct fs_parameter_spec words[] = {
	fsparam_flag("inband-tags", INBAND_TAGS),
	fsparam_flag("tags-ecc-on", TAGS_ECC_ON),
	fsparam_flag("tags-ecc-off", TAGS_ECC_OFF),
	fsparam_flag("no-cache", NO_CACHE),
	fsparam_flag("no-checkpoint-read", NO_CHECKPOINT_READ),
	fsparam_flag("no-checkpoint-write", NO_CHECKPOINT_WRITE),
	fsparam_flag("no-checkpoint", NO_CHECKPOINT),
	fsparam_flag("empty-lost-and-found-on", EMPTY_LOST_FOUND_ON),
	fsparam_flag("empty-lost-and-found-off", EMPTY_LOST_FOUND_OFF),
	fsparam_flag("lazy-loading-on", LAZY_LOADING_ON),
	fsparam_flag("lazy-loading-off", LAZY_LOADING_OFF),
	fsparam_flag("disable-lazy-load", LAZY_LOADING_OFF),
	fsparam_flag("disable-summary", DISABLE_SUMMARY),
	fsparam_flag("background", BACKGROUND),
	fsparam_flag("no-background", NO_BACKGROUND),
	{},
};

static const struct yl_options defaults = {
	.tags_ecc = true,
	.cache = true,
	.checkpoint_read = true,
	.checkpoint_write = true,
	.empty_lost_found = true,
	.lazy_load = true,
	.summary = true,
	.background = true,
};

static void take(struct yl_options *options, enum word word)
{
	switch (word) {
	case INBAND_TAGS:
		options->inband_tags = true;
		break;
	case TAGS_ECC_ON:
	case TAGS_ECC_OFF:
		options->tags_ecc = word == TAGS_ECC_ON;
		break;
	case NO_CACHE:
		options->cache = false;
		break;
	case NO_CHECKPOINT_READ:
		options->checkpoint_read = false;
		break;
	case NO_CHECKPOINT_WRITE:
		options->checkpoint_write = false;
		break;
	case NO_CHECKPOINT:
		options->checkpoint_read = false;
		options->checkpoint_write = false;
		break;
	case EMPTY_LOST_FOUND_ON:
	case EMPTY_LOST_FOUND_OFF:
		options->empty_lost_found = word == EMPTY_LOST_FOUND_ON;
		break;
	case LAZY_LOADING_ON:
	case LAZY_LOADING_OFF:
		options->lazy_load = word == LAZY_LOADING_ON;
		break;
	case DISABLE_SUMMARY:
		options->summary = false;
		break;
	case BACKGROUND:
	case NO_BACKGROUND:
		options->background = word == BACKGROUND;
		break;
	}
}

static int parse_param(struct fs_context *fc, struct fs_parameter *param)
{
	struct fs_parse_result result;
	int word = fs_parse(fc, words, param, &result);

	if (word < 0)
		return word;
	take(fc->fs_private, word);
	return 0;
}

static int get_tree(struct fs_context *fc)
{
	return get_tree_mtd(fc, yl_fill_super);
}

/* Only read-only can be changed: the other options determine what is in RAM. */
static int reconfigure(struct fs_context *fc)
{
	struct super_block *sb = fc->root->d_sb;
	struct yl_fs *fs = sb->s_fs_info;

	if (memcmp(&fs->options, fc->fs_private, sizeof(fs->options)))
		return invalf(fc, "yaffs2: a remount cannot change options");
	if (!(fc->sb_flags_mask & SB_RDONLY))
		return 0;
	return yl_remount(sb, fc->sb_flags & SB_RDONLY);
}

static void free_context(struct fs_context *fc)
{
	kfree(fc->fs_private);
}

static const struct fs_context_operations context_operations = {
	.parse_param = parse_param,
	.get_tree = get_tree,
	.reconfigure = reconfigure,
	.free = free_context,
};

int yl_init_fs_context(struct fs_context *fc)
{
	const struct yl_options *from = &defaults;

	if (fc->purpose == FS_CONTEXT_FOR_RECONFIGURE)
		from = &((struct yl_fs *)fc->root->d_sb->s_fs_info)->options;
	fc->fs_private = kmemdup(from, sizeof(*from), GFP_KERNEL);
	if (!fc->fs_private)
		return -ENOMEM;
	fc->ops = &context_operations;
	return 0;
}

static void show_unless(struct seq_file *seq, bool is_default, const char *word)
{
	if (!is_default)
		seq_printf(seq, ",%s", word);
}

int yl_show_options(struct seq_file *seq, struct dentry *root)
{
	struct yl_fs *fs = root->d_sb->s_fs_info;
	const struct yl_options *o = &fs->options;

	show_unless(seq, !o->inband_tags, "inband-tags");
	show_unless(seq, o->tags_ecc, "tags-ecc-off");
	show_unless(seq, o->cache, "no-cache");
	if (!o->checkpoint_read && !o->checkpoint_write) {
		seq_puts(seq, ",no-checkpoint");
	} else {
		show_unless(seq, o->checkpoint_read, "no-checkpoint-read");
		show_unless(seq, o->checkpoint_write, "no-checkpoint-write");
	}
	show_unless(seq, o->empty_lost_found, "empty-lost-and-found-off");
	show_unless(seq, o->lazy_load, "lazy-loading-off");
	show_unless(seq, o->summary, "disable-summary");
	show_unless(seq, o->background, "no-background");
	return 0;
}
