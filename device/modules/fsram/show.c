// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * usage: a line "key value" for each sum. A write resets the peaks, that of
 * each function too, to what is held now.
 * functions: a line "name bytes peak_bytes allocations reclaimable" for each
 * function that allocated; reclaimable is 0 or 1.
 * series: a line "t_ns bytes reclaimable_bytes" for each sample. A write
 * forgets them and begins the series anew, with a sample of now.
 */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/seq_file.h>

#include "show.h"
#include "table.h"

static struct dentry *folder;

static int usage_show(struct seq_file *out, void *unused)
{
	struct ram_sums now;

	/* Objects freed by RCU, as inodes are, are no longer held: wait for
	 * their release. */
	rcu_barrier();
	now = ram_sums();
	seq_printf(out, "bytes %llu\n", now.held.bytes);
	seq_printf(out, "reclaimable_bytes %llu\n", now.held.reclaimable_bytes);
	seq_printf(out, "peak_bytes %llu\n", now.peak_bytes);
	seq_printf(out, "peak_kept_bytes %llu\n", now.peak_kept_bytes);
	seq_printf(out, "slab_bytes %llu\n", now.bytes[RAM_SLAB]);
	seq_printf(out, "kmalloc_bytes %llu\n", now.bytes[RAM_KMALLOC]);
	seq_printf(out, "vmalloc_bytes %llu\n", now.bytes[RAM_VMALLOC]);
	seq_printf(out, "objects %llu\n", now.objects);
	seq_printf(out, "allocations %llu\n", now.allocations);
	seq_printf(out, "frees %llu\n", now.frees);
	seq_printf(out, "lost %llu\n", now.lost);
	seq_printf(out, "samples %llu\n", now.samples);
	seq_printf(out, "samples_lost %llu\n", now.samples_lost);
	return 0;
}

static ssize_t usage_write(struct file *file, const char __user *from,
			   size_t bytes, loff_t *at)
{
	ram_reset_peak();
	return bytes;
}

static int usage_open(struct inode *inode, struct file *file)
{
	return single_open(file, usage_show, NULL);
}

static const struct file_operations usage_ops = {
	.owner = THIS_MODULE,
	.open = usage_open,
	.read = seq_read,
	.write = usage_write,
	.llseek = seq_lseek,
	.release = single_release,
};

static int functions_show(struct seq_file *out, void *unused)
{
	struct ram_function function;
	unsigned int i;

	rcu_barrier();
	for (i = 0; ram_function(i, &function); i++)
		if (function.allocations)
			seq_printf(out, "%s %llu %llu %llu %d\n", function.name,
				   function.bytes, function.peak_bytes,
				   function.allocations, function.reclaimable);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(functions);

/* The place is the number of a sample; lost ones are passed over. */
static void *series_seq_start(struct seq_file *out, loff_t *at)
{
	*at = max_t(loff_t, *at, ram_sums().samples_lost);
	return ram_sample(*at, out->private) ? out->private : NULL;
}

static void *series_seq_next(struct seq_file *out, void *last, loff_t *at)
{
	++*at;
	return series_seq_start(out, at);
}

static void series_seq_stop(struct seq_file *out, void *last)
{
}

static int series_seq_show(struct seq_file *out, void *of)
{
	const struct ram_sample *sample = of;

	seq_printf(out, "%llu %llu %llu\n", sample->t_ns, sample->held.bytes,
		   sample->held.reclaimable_bytes);
	return 0;
}

static const struct seq_operations series_seq_ops = {
	.start = series_seq_start,
	.next = series_seq_next,
	.stop = series_seq_stop,
	.show = series_seq_show,
};

static ssize_t series_write(struct file *file, const char __user *from,
			    size_t bytes, loff_t *at)
{
	ram_begin_series();
	return bytes;
}

static int series_open(struct inode *inode, struct file *file)
{
	void *sample = __seq_open_private(file, &series_seq_ops,
					  sizeof(struct ram_sample));

	return sample ? 0 : -ENOMEM;
}

static const struct file_operations series_ops = {
	.owner = THIS_MODULE,
	.open = series_open,
	.read = seq_read,
	.write = series_write,
	.llseek = seq_lseek,
	.release = seq_release_private,
};

void show_init(bool series)
{
	folder = debugfs_create_dir("fsram", NULL);
	debugfs_create_file("usage", 0600, folder, NULL, &usage_ops);
	debugfs_create_file("functions", 0400, folder, NULL, &functions_fops);
	if (series)
		debugfs_create_file("series", 0600, folder, NULL, &series_ops);
}

void show_exit(void)
{
	debugfs_remove(folder);
}
