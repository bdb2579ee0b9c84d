/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * This port is built with any core from that of 2012, which U-Boot has, to
 * upstream's of today. They differ in how the flash functions are passed, where
 * the cache is, and in a few signatures; each is asked for by itself, as no
 * core has a version number. Kbuild looks into the core's header for structures
 * and defines CORE_HAS_DRIVER and CORE_HAS_CACHE_MANAGER. The compiler chooses
 * by a function's type, with _Generic; a type that is not listed here ends the
 * build.
 */
#ifndef YAFFS2_CORE_H
#define YAFFS2_CORE_H

#include "yportenv.h"
#include "yaffs_guts.h"
#include "yaffs_packedtags2.h"
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

#endif

/*
 * Functions of the core that were given an argument more, and their types
 * before and since. Both calls must compile, though only that of the core's own
 * type is made: CORE_AS() is the function if it has this type, else any.
 */
#define CORE_AS(type, function) \
	_Generic(&(function), type *: &(function), default: (type *)NULL)

#define CORE_CALL(function, before, before_args, since, since_args) \
	_Generic(&(function),                                       \
		before *: CORE_AS(before, function) before_args,    \
		since *: CORE_AS(since, function) since_args)

/* The last argument since: drop from the cache what was flushed. */
typedef int core_flush_file_plain(struct yaffs_obj *, int, int);
typedef int core_flush_file_discard(struct yaffs_obj *, int, int, int);
typedef void core_flush_cache_plain(struct yaffs_dev *);
typedef void core_flush_cache_discard(struct yaffs_dev *, int);

#define core_flush_file(obj, data_only)                         \
	CORE_CALL(yaffs_flush_file, core_flush_file_plain,      \
		  (obj, 0, data_only), core_flush_file_discard, \
		  (obj, 0, data_only, 0))
#define core_flush_cache(dev)                                             \
	CORE_CALL(yaffs_flush_whole_cache, core_flush_cache_plain, (dev), \
		  core_flush_cache_discard, (dev, 0))

/* Since July 2016 packing of tags takes the device: its byte order may be the
 * other one. */
typedef void core_pack_plain(struct yaffs_packed_tags2 *,
			     const struct yaffs_ext_tags *, int);
typedef void core_pack_dev(struct yaffs_dev *, struct yaffs_packed_tags2 *,
			   const struct yaffs_ext_tags *, int);
typedef void core_unpack_plain(struct yaffs_ext_tags *,
			       struct yaffs_packed_tags2 *, int);
typedef void core_unpack_dev(struct yaffs_dev *, struct yaffs_ext_tags *,
			     struct yaffs_packed_tags2 *, int);
typedef void core_pack_only_plain(struct yaffs_packed_tags2_tags_only *,
				  const struct yaffs_ext_tags *);
typedef void core_pack_only_dev(struct yaffs_dev *,
				struct yaffs_packed_tags2_tags_only *,
				const struct yaffs_ext_tags *);
typedef void core_unpack_only_plain(struct yaffs_ext_tags *,
				    struct yaffs_packed_tags2_tags_only *);
typedef void core_unpack_only_dev(struct yaffs_dev *, struct yaffs_ext_tags *,
				  struct yaffs_packed_tags2_tags_only *);

#define CORE_CALL_WITH(dev, function, before, since, ...) \
	CORE_CALL(function, before, (__VA_ARGS__), since, (dev, __VA_ARGS__))

#define core_pack_tags2(dev, ...)                                             \
	CORE_CALL_WITH(dev, yaffs_pack_tags2, core_pack_plain, core_pack_dev, \
		       __VA_ARGS__)
#define core_unpack_tags2(dev, ...)                                \
	CORE_CALL_WITH(dev, yaffs_unpack_tags2, core_unpack_plain, \
		       core_unpack_dev, __VA_ARGS__)
#define core_pack_tags2_only(dev, ...)                                        \
	CORE_CALL_WITH(dev, yaffs_pack_tags2_tags_only, core_pack_only_plain, \
		       core_pack_only_dev, __VA_ARGS__)
#define core_unpack_tags2_only(dev, ...)                             \
	CORE_CALL_WITH(dev, yaffs_unpack_tags2_tags_only,            \
		       core_unpack_only_plain, core_unpack_only_dev, \
		       __VA_ARGS__)

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
