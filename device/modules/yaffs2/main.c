// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * YAFFS2 as a file system of Linux: nandlab's port of the core. Registers the
 * type, and logs the core's messages.
 */
#include <linux/module.h>
#include <linux/mtd/super.h>

#include "yaffs2.h"

unsigned int yaffs_trace_mask = YAFFS_TRACE_ALWAYS | YAFFS_TRACE_BAD_BLOCKS;
module_param(yaffs_trace_mask, uint, 0644);
MODULE_PARM_DESC(yaffs_trace_mask,
		 "messages of the core that are logged: bits of yaffs_trace.h");

unsigned int yaffs_wr_attempts = YAFFS_WR_ATTEMPTS;
module_param(yaffs_wr_attempts, uint, 0644);
MODULE_PARM_DESC(yaffs_wr_attempts,
		 "pages on which a write is tried before it fails");

void yl_say(unsigned int mask, const char *format, ...)
{
	struct va_format text = {.fmt = format};
	va_list args;

	va_start(args, format);
	text.va = &args;
	if (mask & YAFFS_TRACE_BUG)
		pr_err("yaffs2: %pV\n", &text);
	else if (mask & (YAFFS_TRACE_ERROR | YAFFS_TRACE_BAD_BLOCKS))
		pr_warn("yaffs2: %pV\n", &text);
	else
		pr_info("yaffs2: %pV\n", &text);
	va_end(args);
}

static struct file_system_type yl_type = {
	.owner = THIS_MODULE,
	.name = "yaffs2",
	.init_fs_context = yl_init_fs_context,
	.kill_sb = kill_mtd_super,
};
MODULE_ALIAS_FS("yaffs2");

static int __init yl_init(void)
{
	int err = yl_proc_init();

	if (err)
		return err;
	err = register_filesystem(&yl_type);
	if (err)
		yl_proc_exit();
	return err;
}

static void __exit yl_exit(void)
{
	size_t now, peak;

	unregister_filesystem(&yl_type);
	yl_proc_exit();
	yl_memory(&now, &peak);
	if (now)
		pr_warn("yaffs2: the core did not free %zu bytes\n", now);
}

module_init(yl_init);
module_exit(yl_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("YAFFS2 on MTD: nandlab's port of the core");
