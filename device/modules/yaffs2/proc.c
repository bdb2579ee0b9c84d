// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * /proc/yaffs: for each mount its chip, its shape, and what the core and the
 * port have counted, a line `name: value` each. Counts begin when mounting is
 * done; mount_... are the counts of mounting itself. docs/yaffs2.md explains
 * each.
 */
#include <linux/proc_fs.h>
#include <linux/seq_file.h>

#include "yaffs2.h"

static LIST_HEAD(mounted);
static DEFINE_MUTEX(mounted_lock);

static void line(struct seq_file *seq, const char *name, u64 value)
{
	seq_printf(seq, "%s: %llu\n", name, value);
}

static void show_shape(struct seq_file *seq, struct yl_fs *fs)
{
	struct yaffs_dev *dev = &fs->dev;
	struct yaffs_param *param = &dev->param;

	seq_printf(seq, "device: mtd%d\n", fs->mtd->index);
	seq_printf(seq, "name: %s\n", fs->mtd->name);
	line(seq, "yaffs_version", param->is_yaffs2 ? 2 : 1);
	line(seq, "inband_tags", param->inband_tags);
	line(seq, "tags_ecc", !param->no_tags_ecc);
	line(seq, "background", !!fs->collector);
	line(seq, "cache_chunks", param->n_caches);
	line(seq, "read_only", dev->read_only);
	line(seq, "page_bytes", param->total_bytes_per_chunk);
	line(seq, "chunk_bytes", dev->data_bytes_per_chunk);
	line(seq, "chunks_per_block", param->chunks_per_block);
	line(seq, "blocks", param->end_block - param->start_block + 1);
	line(seq, "reserved_blocks", param->n_reserved_blocks);
}

static void show_state(struct seq_file *seq, struct yl_fs *fs)
{
	struct yaffs_dev *dev = &fs->dev;

	line(seq, "free_chunks", dev->n_free_chunks);
	line(seq, "usable_chunks", yaffs_get_n_free_chunks(dev));
	line(seq, "erased_blocks", dev->n_erased_blocks);
	line(seq, "checkpoint_blocks", dev->blocks_in_checkpt);
	line(seq, "is_checkpointed", dev->is_checkpointed);
	line(seq, "objects", dev->n_obj);
	line(seq, "tnodes", dev->n_tnodes);
	line(seq, "deleted_files", dev->n_deleted_files);
	line(seq, "collection_urgency", yl_urgency(fs));
}

static void show_core_counts(struct seq_file *seq, struct yaffs_dev *dev)
{
	line(seq, "page_writes", dev->n_page_writes);
	line(seq, "page_reads", dev->n_page_reads);
	line(seq, "erasures", dev->n_erasures);
	line(seq, "erase_failures", dev->n_erase_failures);
	line(seq, "retired_blocks", dev->n_retired_blocks);
	line(seq, "retried_writes", dev->n_retried_writes);
	line(seq, "collections_all", dev->all_gcs);
	line(seq, "collections_passive", dev->passive_gc_count);
	line(seq, "collections_background", dev->bg_gcs);
	line(seq, "collections_oldest", dev->oldest_dirty_gc_count);
	line(seq, "collected_blocks", dev->n_gc_blocks);
	line(seq, "collection_copies", dev->n_gc_copies);
	line(seq, "refreshes", dev->refresh_count);
	line(seq, "deletions", dev->n_deletions);
	line(seq, "unmarked_deletions", dev->n_unmarked_deletions);
	line(seq, "cache_hits", dev->cache_hits);
	line(seq, "ecc_fixed", dev->n_ecc_fixed);
	line(seq, "ecc_unfixed", dev->n_ecc_unfixed);
	line(seq, "tags_ecc_fixed", dev->n_tags_ecc_fixed);
	line(seq, "tags_ecc_unfixed", dev->n_tags_ecc_unfixed);
	line(seq, "scan_tags_used", dev->tags_used);
	line(seq, "scan_summaries_used", dev->summary_used);
}

static void show_port_counts(struct seq_file *seq, struct yl_fs *fs)
{
	const struct yl_flash_counts *counts = &fs->counts;

	line(seq, "checkpoints_saved", fs->checkpoints);
	line(seq, "mtd_page_reads", counts->page_reads);
	line(seq, "mtd_oob_reads", counts->oob_reads);
	line(seq, "mtd_page_writes", counts->page_writes);
	line(seq, "mtd_oob_writes", counts->oob_writes);
	line(seq, "mtd_erasures", counts->erasures);
	line(seq, "mtd_write_failures", counts->write_failures);
	line(seq, "mtd_erase_failures", counts->erase_failures);
	line(seq, "collection_read_failures", counts->collection_read_failures);
	line(seq, "lost_chunks", counts->lost_chunks);
	line(seq, "mount_page_reads", fs->mount_counts.page_reads);
	line(seq, "mount_oob_reads", fs->mount_counts.oob_reads);
	line(seq, "mount_page_writes", fs->mount_counts.page_writes);
	line(seq, "mount_erasures", fs->mount_counts.erasures);
}

static int show(struct seq_file *seq, void *unused)
{
	size_t now, peak;
	struct yl_fs *fs;

	yl_memory(&now, &peak);
	line(seq, "format", 1);
	line(seq, "memory_bytes", now);
	line(seq, "memory_peak_bytes", peak);
	mutex_lock(&mounted_lock);
	list_for_each_entry (fs, &mounted, mounted) {
		seq_putc(seq, '\n');
		yl_lock(fs);
		show_shape(seq, fs);
		show_state(seq, fs);
		show_core_counts(seq, &fs->dev);
		show_port_counts(seq, fs);
		yl_unlock(fs);
	}
	mutex_unlock(&mounted_lock);
	return 0;
}

void yl_proc_add(struct yl_fs *fs)
{
	mutex_lock(&mounted_lock);
	list_add_tail(&fs->mounted, &mounted);
	mutex_unlock(&mounted_lock);
}

void yl_proc_remove(struct yl_fs *fs)
{
	mutex_lock(&mounted_lock);
	list_del_init(&fs->mounted);
	mutex_unlock(&mounted_lock);
}

int yl_proc_init(void)
{
	return proc_create_single("yaffs", 0444, NULL, show) ? 0 : -ENOMEM;
}

void yl_proc_exit(void)
{
	remove_proc_entry("yaffs", NULL);
}
