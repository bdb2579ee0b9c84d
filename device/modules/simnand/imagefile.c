// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The chip's image as a file: read from debugfs, loaded from a path before
 * anybody uses the chip. Costs a buffer of one block, whatever the chip's size.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/seq_file.h>

#include "image.h"
#include "simnand.h"

struct reader {
	struct file *file;
	loff_t pos;
};

static size_t read_whole(void *context, void *to, size_t bytes)
{
	struct reader *reader = context;
	size_t have = 0;
	ssize_t got;

	while (have < bytes) {
		got = kernel_read(reader->file, (u8 *)to + have, bytes - have,
				  &reader->pos);
		if (got <= 0)
			break;
		have += got;
	}
	return have;
}

int simnand_image_load(struct simnand *sim)
{
	const char *path = sim->params.image;
	struct reader reader = {};
	const char *why;

	if (!path || !*path)
		return 0;
	reader.file = filp_open(path, O_RDONLY | O_LARGEFILE, 0);
	if (IS_ERR(reader.file)) {
		pr_err("not loaded: image: cannot open %s (%ld)\n", path,
		       PTR_ERR(reader.file));
		return PTR_ERR(reader.file);
	}
	why = image_load(&sim->chip, read_whole, &reader);
	filp_close(reader.file, NULL);
	if (!why)
		return 0;
	pr_err("not loaded: %s (%s)\n", why, path);
	return -EINVAL;
}

static void *part_start(struct seq_file *file, loff_t *pos)
{
	struct simnand *sim = file->private;

	return *pos <= sim->chip.params.blocks + 1 ? pos : NULL;
}

static void *part_next(struct seq_file *file, void *at, loff_t *pos)
{
	++*pos;
	return part_start(file, pos);
}

static void part_stop(struct seq_file *file, void *at)
{
}

static int part_show(struct seq_file *file, void *at)
{
	struct simnand *sim = file->private;
	u32 part = *(loff_t *)at;
	size_t bytes;
	bool empty;
	u8 *buffer;

	mutex_lock(&sim->lock);
	empty = image_part_empty(&sim->chip, part);
	mutex_unlock(&sim->lock);
	if (empty)
		return 0; /* as most are: a kernel may clear what it gives */
	buffer = kvmalloc(image_part_max(&sim->chip), GFP_KERNEL);
	if (!buffer)
		return -ENOMEM;
	mutex_lock(&sim->lock);
	bytes = image_put(&sim->chip, part, buffer);
	mutex_unlock(&sim->lock);
	seq_write(file, buffer, bytes);
	kvfree(buffer);
	return 0;
}

static const struct seq_operations image_sops = {
	.start = part_start,
	.next = part_next,
	.stop = part_stop,
	.show = part_show,
};
DEFINE_SEQ_ATTRIBUTE(image);

void simnand_image_add(struct simnand *sim)
{
	debugfs_create_file("image", 0400, sim->dir, sim, &image_fops);
}
