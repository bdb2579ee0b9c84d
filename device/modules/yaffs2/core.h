/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * This port can be built with two cores: U-Boot's, which Debian has, and
 * upstream's of today. They differ in a few signatures and in how the flash
 * functions are passed. Kbuild looks into the core's header and defines
 * CORE_HAS_DRIVER and CORE_HAS_CACHE_MANAGER if it has these.
 */
#ifndef YAFFS2_CORE_H
#define YAFFS2_CORE_H

#include "yportenv.h"
#include "yaffs_guts.h"
#include "yaffs_trace.h"

/* What the port provides to the core. */
struct yl_flash_fns {
	int (*write)(struct yaffs_dev *dev, int chunk, const u8 *data,
		     const struct yaffs_ext_tags *tags);
	int (*read)(struct yaffs_dev *dev, int chunk, u8 *data,
		    struct yaffs_ext_tags *tags);
	int (*query)(struct yaffs_dev *dev, int block,
		     enum yaffs_block_state *state, u32 *sequence);
	int (*erase)(struct yaffs_dev *dev, int block);
	int (*mark_bad)(struct yaffs_dev *dev, int block);
	int (*check_bad)(struct yaffs_dev *dev, int block);
	int (*nothing)(struct yaffs_dev *dev);
};

#ifdef CORE_HAS_DRIVER

/* Never called: chunks go through the tags functions. But the core wants these
 * set. */
static inline int core_no_write(struct yaffs_dev *dev, int chunk,
				const u8 *data, int bytes, const u8 *oob,
				int oob_bytes)
{
	return YAFFS_FAIL;
}

static inline int core_no_read(struct yaffs_dev *dev, int chunk, u8 *data,
			       int bytes, u8 *oob, int oob_bytes,
			       enum yaffs_ecc_result *result)
{
	return YAFFS_FAIL;
}

static inline void core_set_flash(struct yaffs_dev *dev,
				  const struct yl_flash_fns *fns)
{
	dev->tagger.write_chunk_tags_fn = fns->write;
	dev->tagger.read_chunk_tags_fn = fns->read;
	dev->tagger.query_block_fn = fns->query;
	dev->tagger.mark_bad_fn = fns->mark_bad;
	dev->drv.drv_write_chunk_fn = core_no_write;
	dev->drv.drv_read_chunk_fn = core_no_read;
	dev->drv.drv_erase_fn = fns->erase;
	dev->drv.drv_mark_bad_fn = fns->mark_bad;
	dev->drv.drv_check_bad_fn = fns->check_bad;
	dev->drv.drv_initialise_fn = fns->nothing;
	dev->drv.drv_deinitialise_fn = fns->nothing;
}

#define core_flush_file(obj, data_only) yaffs_flush_file(obj, 0, data_only, 0)
#define core_flush_cache(dev)		yaffs_flush_whole_cache(dev, 0)

#else

static inline void core_set_flash(struct yaffs_dev *dev,
				  const struct yl_flash_fns *fns)
{
	dev->param.write_chunk_tags_fn = fns->write;
	dev->param.read_chunk_tags_fn = fns->read;
	dev->param.query_block_fn = fns->query;
	dev->param.bad_block_fn = fns->mark_bad;
	dev->param.erase_fn = fns->erase;
	dev->param.initialise_flash_fn = fns->nothing;
	dev->param.deinitialise_flash_fn = fns->nothing;
}

#define core_flush_file(obj, data_only) yaffs_flush_file(obj, 0, data_only)
#define core_flush_cache(dev)		yaffs_flush_whole_cache(dev)

#endif

#ifdef CORE_HAS_CACHE_MANAGER
#define core_cache(dev) ((dev)->cache_mgr.cache)
#else
#define core_cache(dev) ((dev)->cache)
#endif

/*
 * The core's cache keeps the data of a failed read, and returns them the next
 * time. Drop all that it has of a file, except what was written.
 */
static inline void core_forget_reads(struct yaffs_obj *obj)
{
	struct yaffs_cache *cache = core_cache(obj->my_dev);
	int i;

	for (i = 0; i < obj->my_dev->param.n_caches; i++)
		if (cache[i].object == obj && !cache[i].dirty)
			cache[i].object = NULL;
}
#endif
