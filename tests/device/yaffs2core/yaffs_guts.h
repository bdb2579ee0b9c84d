/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the YAFFS2 port asks of a core, as each age of the core declares it, and
 * nothing more: no core's code. test_yaffs2_cores.py keeps the lines of one
 * age: CORE is year and month.
 */
#ifndef __YAFFS_GUTS_H__
#define __YAFFS_GUTS_H__

#include "yportenv.h"

#define YAFFS_OK		     1
#define YAFFS_FAIL		     0
#define YAFFS_MAGIC		     0x5941ff53
#define YAFFS_MIN_YAFFS2_CHUNK_SIZE  1024
#define YAFFS_NOBJECT_BUCKETS	     256
#define YAFFS_MAX_OBJECT_ID	     0x3ffff
#define YAFFS_MAX_NAME_LENGTH	     255
#define YAFFS_MAX_ALIAS_LENGTH	     159
#define YAFFS_OBJECTID_ROOT	     1
#define YAFFS_WR_ATTEMPTS	     (5 * 64)
#define YAFFS_LOWEST_SEQUENCE_NUMBER 0x1000

struct yaffs_dev;
struct yaffs_obj;

struct yaffs_cache {
	struct yaffs_obj *object;
	int dirty;
};

#if CORE >= 201801
struct yaffs_cache_manager {
	struct yaffs_cache *cache;
	int n_caches;
};

#endif
struct yaffs_tags {
#if CORE >= 201607
	u32 chunk_id : 20;
	u32 ecc : 12;
#else
	unsigned chunk_id : 20;
	unsigned ecc : 12;
#endif
};

enum yaffs_ecc_result {
	YAFFS_ECC_RESULT_UNKNOWN,
	YAFFS_ECC_RESULT_NO_ERROR,
	YAFFS_ECC_RESULT_FIXED,
	YAFFS_ECC_RESULT_UNFIXED
};

enum yaffs_obj_type {
	YAFFS_OBJECT_TYPE_UNKNOWN,
	YAFFS_OBJECT_TYPE_FILE,
	YAFFS_OBJECT_TYPE_SYMLINK,
	YAFFS_OBJECT_TYPE_DIRECTORY,
	YAFFS_OBJECT_TYPE_HARDLINK,
	YAFFS_OBJECT_TYPE_SPECIAL
};

struct yaffs_ext_tags {
	unsigned chunk_used;
	unsigned obj_id;
	unsigned chunk_id;
	unsigned n_bytes;
	enum yaffs_ecc_result ecc_result;
	unsigned is_deleted;
	unsigned seq_number;
};

enum yaffs_block_state {
	YAFFS_BLOCK_STATE_UNKNOWN,
	YAFFS_BLOCK_STATE_NEEDS_SCAN,
	YAFFS_BLOCK_STATE_EMPTY,
	YAFFS_BLOCK_STATE_DEAD
};

struct yaffs_block_info {
	u32 block_state : 4;
	u32 skip_erased_check : 1;
};

struct yaffs_obj_hdr {
	u32 yst_mode;
	u32 yst_uid;
	u32 yst_gid;
	u32 yst_atime;
	u32 yst_mtime;
	u32 yst_ctime;
	u32 yst_rdev;
};

struct yaffs_file_var {
#if CORE >= 201801
	loff_t file_size;
	loff_t stored_size;
#else
	loff_t file_size;
	loff_t scanned_size;
#endif
};

struct yaffs_dir_var {
	struct list_head children;
};

struct yaffs_symlink_var {
	YCHAR *alias;
};

struct yaffs_hardlink_var {
	struct yaffs_obj *equiv_obj;
};

union yaffs_obj_var {
	struct yaffs_file_var file_variant;
	struct yaffs_dir_var dir_variant;
	struct yaffs_symlink_var symlink_variant;
	struct yaffs_hardlink_var hardlink_variant;
};

struct yaffs_obj {
	u8 deleted : 1;
	u8 unlinked : 1;
	u8 fake : 1;
	u8 dirty : 1;
	u8 lazy_loaded : 1;
	u8 is_shadowed : 1;
	struct yaffs_dev *my_dev;
	struct list_head hash_link;
	struct list_head hard_links;
	struct yaffs_obj *parent;
	struct list_head siblings;
	int hdr_chunk;
	u32 obj_id;
	u32 yst_mode;
#if CORE >= 201801
	YTIME_T yst_uid;
	YTIME_T yst_gid;
	YTIME_T yst_atime;
	YTIME_T yst_mtime;
	YTIME_T yst_ctime;
#else
	u32 yst_uid;
	u32 yst_gid;
	u32 yst_atime;
	u32 yst_mtime;
	u32 yst_ctime;
#endif
	u32 yst_rdev;
	void *my_inode;
#if CORE >= 201607
	u32 variant_type;
#else
	enum yaffs_obj_type variant_type;
#endif
	union yaffs_obj_var variant;
};

struct yaffs_obj_bucket {
	struct list_head list;
};

struct yaffs_param {
	const YCHAR *name;
	int inband_tags;
	u32 total_bytes_per_chunk;
#if CORE >= 201607
	u32 chunks_per_block;
	u32 spare_bytes_per_chunk;
	u32 start_block;
	u32 end_block;
	u32 n_reserved_blocks;
	u32 n_caches;
#else
	int chunks_per_block;
	int spare_bytes_per_chunk;
	int start_block;
	int end_block;
	int n_reserved_blocks;
	int n_caches;
#endif
	int use_nand_ecc;
	int no_tags_ecc;
	int is_yaffs2;
	int empty_lost_n_found;
	int refresh_period;
	u8 skip_checkpt_rd;
	u8 skip_checkpt_wr;
	int enable_xattr;
#if CORE < 201301
	int (*write_chunk_tags_fn)(struct yaffs_dev *dev, int nand_chunk,
				   const u8 *data,
				   const struct yaffs_ext_tags *tags);
	int (*read_chunk_tags_fn)(struct yaffs_dev *dev, int nand_chunk,
				  u8 *data, struct yaffs_ext_tags *tags);
	int (*bad_block_fn)(struct yaffs_dev *dev, int block_no);
	int (*query_block_fn)(struct yaffs_dev *dev, int block_no,
			      enum yaffs_block_state *state, u32 *seq_number);
	int (*erase_fn)(struct yaffs_dev *dev, int flash_block);
	int (*initialise_flash_fn)(struct yaffs_dev *dev);
	int (*deinitialise_flash_fn)(struct yaffs_dev *dev);
#endif
	int disable_lazy_load;
	int defered_dir_update;
	int disable_summary;
};

#if CORE >= 201301
struct yaffs_driver {
	int (*drv_write_chunk_fn)(struct yaffs_dev *dev, int nand_chunk,
				  const u8 *data, int data_len, const u8 *oob,
				  int oob_len);
	int (*drv_read_chunk_fn)(struct yaffs_dev *dev, int nand_chunk,
				 u8 *data, int data_len, u8 *oob, int oob_len,
				 enum yaffs_ecc_result *ecc_result);
	int (*drv_erase_fn)(struct yaffs_dev *dev, int block_no);
	int (*drv_mark_bad_fn)(struct yaffs_dev *dev, int block_no);
	int (*drv_check_bad_fn)(struct yaffs_dev *dev, int block_no);
	int (*drv_initialise_fn)(struct yaffs_dev *dev);
	int (*drv_deinitialise_fn)(struct yaffs_dev *dev);
};

struct yaffs_tags_handler {
	int (*write_chunk_tags_fn)(struct yaffs_dev *dev, int nand_chunk,
				   const u8 *data,
				   const struct yaffs_ext_tags *tags);
	int (*read_chunk_tags_fn)(struct yaffs_dev *dev, int nand_chunk,
				  u8 *data, struct yaffs_ext_tags *tags);
	int (*query_block_fn)(struct yaffs_dev *dev, int block_no,
			      enum yaffs_block_state *state, u32 *seq_number);
	int (*mark_bad_fn)(struct yaffs_dev *dev, int block_no);
};

#endif
struct yaffs_dev {
	struct yaffs_param param;
#if CORE >= 201301
	struct yaffs_driver drv;
	struct yaffs_tags_handler tagger;
#endif
	void *os_context;
	void *driver_context;
#if CORE >= 201607
	u32 data_bytes_per_chunk;
	u32 internal_start_block;
	u32 internal_end_block;
	u32 blocks_in_checkpt;
#else
	int data_bytes_per_chunk;
	int internal_start_block;
	int internal_end_block;
	int blocks_in_checkpt;
#endif
	int is_mounted;
	int read_only;
	int is_checkpointed;
	struct yaffs_block_info *block_info;
	int n_erased_blocks;
	int alloc_block;
	u32 alloc_page;
	int n_obj;
	int n_tnodes;
	struct yaffs_obj_bucket obj_bucket[YAFFS_NOBJECT_BUCKETS];
	int n_free_chunks;
	unsigned gc_disable;
#if CORE >= 201801
	struct yaffs_cache_manager cache_mgr;
#else
	struct yaffs_cache *cache;
#endif
	int n_deleted_files;
	u32 n_page_writes;
	u32 n_page_reads;
	u32 n_erasures;
	u32 n_erase_failures;
	u32 n_gc_copies;
	u32 all_gcs;
	u32 passive_gc_count;
	u32 oldest_dirty_gc_count;
	u32 n_gc_blocks;
	u32 bg_gcs;
	u32 n_retried_writes;
	u32 n_retired_blocks;
	u32 n_ecc_fixed;
	u32 n_ecc_unfixed;
	u32 n_tags_ecc_fixed;
	u32 n_tags_ecc_unfixed;
	u32 n_deletions;
	u32 n_unmarked_deletions;
	u32 refresh_count;
	u32 cache_hits;
	u32 tags_used;
	u32 summary_used;
};

struct yaffs_xattr_mod;

int yaffs_guts_initialise(struct yaffs_dev *dev);
void yaffs_deinitialise(struct yaffs_dev *dev);
int yaffs_get_n_free_chunks(struct yaffs_dev *dev);
int yaffs_rename_obj(struct yaffs_obj *old_dir, const YCHAR *old_name,
		     struct yaffs_obj *new_dir, const YCHAR *new_name);
int yaffs_unlinker(struct yaffs_obj *dir, const YCHAR *name);
int yaffs_del_obj(struct yaffs_obj *obj);
int yaffs_get_obj_name(struct yaffs_obj *obj, YCHAR *name, int buffer_size);
loff_t yaffs_get_obj_length(struct yaffs_obj *obj);
int yaffs_get_obj_inode(struct yaffs_obj *obj);
unsigned yaffs_get_obj_type(struct yaffs_obj *obj);
int yaffs_get_obj_link_count(struct yaffs_obj *obj);
int yaffs_file_rd(struct yaffs_obj *obj, u8 *buffer, loff_t offset,
		  int n_bytes);
int yaffs_wr_file(struct yaffs_obj *obj, const u8 *buffer, loff_t offset,
		  int n_bytes, int write_through);
int yaffs_resize_file(struct yaffs_obj *obj, loff_t new_size);
struct yaffs_obj *yaffs_create_file(struct yaffs_obj *parent, const YCHAR *name,
				    u32 mode, u32 uid, u32 gid);
#if CORE >= 201401
int yaffs_flush_file(struct yaffs_obj *obj, int update_time, int data_sync,
		     int discard_cache);
void yaffs_flush_whole_cache(struct yaffs_dev *dev, int discard);
#else
int yaffs_flush_file(struct yaffs_obj *obj, int update_time, int data_sync);
void yaffs_flush_whole_cache(struct yaffs_dev *dev);
#endif
int yaffs_checkpoint_save(struct yaffs_dev *dev);
struct yaffs_obj *yaffs_create_dir(struct yaffs_obj *parent, const YCHAR *name,
				   u32 mode, u32 uid, u32 gid);
struct yaffs_obj *yaffs_find_by_name(struct yaffs_obj *the_dir,
				     const YCHAR *name);
struct yaffs_obj *yaffs_find_by_number(struct yaffs_dev *dev, u32 number);
struct yaffs_obj *yaffs_link_obj(struct yaffs_obj *parent, const YCHAR *name,
				 struct yaffs_obj *equiv_obj);
struct yaffs_obj *yaffs_get_equivalent_obj(struct yaffs_obj *obj);
struct yaffs_obj *yaffs_create_symlink(struct yaffs_obj *parent,
				       const YCHAR *name, u32 mode, u32 uid,
				       u32 gid, const YCHAR *alias);
YCHAR *yaffs_get_symlink_alias(struct yaffs_obj *obj);
struct yaffs_obj *yaffs_create_special(struct yaffs_obj *parent,
				       const YCHAR *name, u32 mode, u32 uid,
				       u32 gid, u32 rdev);
int yaffs_set_xattrib(struct yaffs_obj *obj, const YCHAR *name,
		      const void *value, int size, int flags);
int yaffs_get_xattrib(struct yaffs_obj *obj, const YCHAR *name, void *value,
		      int size);
int yaffs_list_xattrib(struct yaffs_obj *obj, char *buffer, int size);
int yaffs_remove_xattrib(struct yaffs_obj *obj, const YCHAR *name);
void yaffs_handle_defered_free(struct yaffs_obj *obj);
void yaffs_update_dirty_dirs(struct yaffs_dev *dev);
int yaffs_bg_gc(struct yaffs_dev *dev, unsigned urgency);
int yaffs_check_ff(u8 *buffer, int n_bytes);
u8 *yaffs_get_temp_buffer(struct yaffs_dev *dev);
void yaffs_release_temp_buffer(struct yaffs_dev *dev, u8 *buffer);
int yaffs_update_oh(struct yaffs_obj *in, const YCHAR *name, int force,
		    int is_shrink, int shadows, struct yaffs_xattr_mod *xop);
int yaffs_check_alloc_available(struct yaffs_dev *dev, int n_chunks);
int yaffs_is_non_empty_dir(struct yaffs_obj *obj);
void yaffs_addr_to_chunk(struct yaffs_dev *dev, loff_t addr, int *chunk_out,
			 u32 *offset_out);
loff_t yaffs_max_file_size(struct yaffs_dev *dev);

#endif
