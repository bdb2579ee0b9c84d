/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Differences between the kernels from 5.10 to 6.12. For each HAVE_, Kbuild
 * searches the kernel's headers and ignores its version, as distributions
 * backport changes.
 */
#ifndef YAFFS2_COMPAT_H
#define YAFFS2_COMPAT_H

#include <linux/fs.h>
#include <linux/pagemap.h>

/* First argument of inode operations: none, a user namespace or an id map. */
#if defined(HAVE_MNT_IDMAP)
#define IDMAP_ARG struct mnt_idmap *idmap,
#define IDMAP	  idmap,
#elif defined(HAVE_USER_NS_OPS)
#define IDMAP_ARG struct user_namespace *idmap,
#define IDMAP	  idmap,
#else
#define IDMAP_ARG
#define IDMAP
#endif

/* The times of access and modification got accessors after that of change. */
#ifndef HAVE_MTIME_ACCESSORS
static inline struct timespec64 inode_get_atime(const struct inode *inode)
{
	return inode->i_atime;
}

static inline struct timespec64 inode_get_mtime(const struct inode *inode)
{
	return inode->i_mtime;
}

static inline void inode_set_atime_to_ts(struct inode *inode,
					 struct timespec64 ts)
{
	inode->i_atime = ts;
}

static inline void inode_set_mtime_to_ts(struct inode *inode,
					 struct timespec64 ts)
{
	inode->i_mtime = ts;
}
#endif

#ifndef HAVE_CTIME_ACCESSORS
static inline struct timespec64 inode_get_ctime(const struct inode *inode)
{
	return inode->i_ctime;
}

static inline void inode_set_ctime_to_ts(struct inode *inode,
					 struct timespec64 ts)
{
	inode->i_ctime = ts;
}
#endif

/* The target of write_begin(): a page, with or without flags, or a folio. */
#if defined(HAVE_WRITE_BEGIN_FOLIO)
#define WRITE_FLAGS_ARG
#define WRITE_FLAGS 0
typedef struct folio *write_target_t;

static inline struct page *target_page(write_target_t target, loff_t pos)
{
	return folio_file_page(target, pos >> PAGE_SHIFT);
}

static inline write_target_t grab_target(struct address_space *mapping,
					 loff_t pos, unsigned int flags)
{
	write_target_t folio =
		__filemap_get_folio(mapping, pos >> PAGE_SHIFT, FGP_WRITEBEGIN,
				    mapping_gfp_mask(mapping));

	return IS_ERR(folio) ? NULL : folio;
}
#else
typedef struct page *write_target_t;

static inline struct page *target_page(write_target_t target, loff_t pos)
{
	return target;
}

#ifdef HAVE_WRITE_BEGIN_FLAGS
#define WRITE_FLAGS_ARG unsigned int flags,
#define WRITE_FLAGS	flags
#else
#define WRITE_FLAGS_ARG
#define WRITE_FLAGS 0
#endif

static inline write_target_t grab_target(struct address_space *mapping,
					 loff_t pos, unsigned int flags)
{
#ifdef HAVE_WRITE_BEGIN_FLAGS
	return grab_cache_page_write_begin(mapping, pos >> PAGE_SHIFT, flags);
#else
	return grab_cache_page_write_begin(mapping, pos >> PAGE_SHIFT);
#endif
}
#endif

/* Invalidation of a piece of a folio or page, which may cover all of it. */
#ifdef HAVE_INVALIDATE_FOLIO
#define INVALIDATE_ARGS struct folio *folio, size_t offset, size_t bytes
#define INVALIDATE_PAGE (&folio->page)
#else
#define INVALIDATE_ARGS \
	struct page *page, unsigned int offset, unsigned int bytes
#define INVALIDATE_PAGE page
#endif

/* A superblock's list of attribute handlers may be constant itself. */
#ifdef HAVE_CONST_XATTR
#define XATTR_LIST_CONST const
#else
#define XATTR_LIST_CONST
#endif

#ifdef HAVE_FILEMAP_SPLICE_READ
#define SPLICE_READ filemap_splice_read
#else
#define SPLICE_READ generic_file_splice_read
#endif

#endif
