// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Regular files. As in YAFFS2's own port, reads go through the page cache, and
 * a write goes to the core as soon as it is in the page (write_end), so only a
 * shared mapping makes pages dirty (map.c). Only parts of flash pages remain in
 * RAM, in the core's own cache, until the file is closed or synced or the
 * kernel writes its inode back.
 */
#include <linux/highmem.h>
#include <linux/pagemap.h>
#include <linux/writeback.h>

#include "yaffs2.h"

static int read_page_locked(struct inode *inode, struct page *page)
{
	struct yl_fs *fs = yl_of(inode);
	struct yaffs_obj *obj = yl_obj(inode);
	loff_t at = page_offset(page), size;
	u8 *data = kmap(page);
	int err;

	yl_lock(fs);
	size = obj->variant.file_variant.file_size;
	yaffs_file_rd(obj, data, at, PAGE_SIZE);
	err = fs->read_error;
	if (err)
		core_forget_reads(obj);
	yl_unlock(fs);
	/* the core also returns what is on flash past the end of the file */
	if (at + PAGE_SIZE > size)
		memset(data + max_t(loff_t, size - at, 0), 0,
		       PAGE_SIZE - max_t(loff_t, size - at, 0));
	flush_dcache_page(page);
	kunmap(page);
	if (!err)
		SetPageUptodate(page);
	return err;
}

#ifdef HAVE_READ_FOLIO
static int read_folio(struct file *file, struct folio *folio)
{
	int err = read_page_locked(folio->mapping->host, &folio->page);

	folio_unlock(folio);
	return err;
}
#else
static int readpage(struct file *file, struct page *page)
{
	int err = read_page_locked(page->mapping->host, page);

	unlock_page(page);
	return err;
}
#endif

/* When part of a chunk is written or cut, the core reads the rest and stores
 * what it got, even if that is wrong: so check before. What is read here need
 * not be read again then. */
bool yl_is_readable(struct yaffs_obj *obj, loff_t at)
{
	struct yl_fs *fs = yl_of_dev(obj->my_dev);
	int chunk;
	u32 start;
	u8 byte;

	yaffs_addr_to_chunk(&fs->dev, at, &chunk, &start);
	if (!start || at - start >= obj->variant.file_variant.file_size)
		return true;
	yaffs_file_rd(obj, &byte, at - start, 1);
	if (fs->read_error)
		core_forget_reads(obj);
	return !fs->read_error;
}

static bool ends_are_readable(struct yaffs_obj *obj, loff_t at, int bytes)
{
	loff_t size = obj->variant.file_variant.file_size;

	return yl_is_readable(obj, min(at, size)) &&
	       (at + bytes >= size || yl_is_readable(obj, at + bytes));
}

/*
 * If there is no room for a whole chunk, the core still drops what its cache
 * has of that chunk, written before and not yet on flash. So while room is
 * scarce, write the cache to flash first; there is a reserve for that.
 */
static void keep_what_is_cached(struct yl_fs *fs, struct yaffs_obj *obj,
				int bytes)
{
	int chunks = bytes / fs->dev.data_bytes_per_chunk;
	int margin = chunks + 2 * fs->dev.param.chunks_per_block;

	if (chunks && !yaffs_check_alloc_available(&fs->dev, margin))
		core_flush_file(obj, true);
}

/* Call with the lock held. Returns the bytes that the core took, or an error if
 * it took none. */
static int write_locked(struct inode *inode, const u8 *data, loff_t at,
			int bytes)
{
	struct yl_fs *fs = yl_of(inode);
	struct yaffs_obj *obj = yl_obj(inode);
	loff_t end;
	int taken;

	if (fs->dev.read_only)
		return -EROFS;
	if (!ends_are_readable(obj, at, bytes))
		return -EIO;
	keep_what_is_cached(fs, obj, bytes);
	fs->write_error = 0;
	taken = yaffs_wr_file(obj, data, at, bytes, 0);
	yl_settle_losses(fs);
	if (taken == bytes) {
		/* lost data of earlier writes that were reported as done */
		mapping_set_error(inode->i_mapping, fs->loss.of_own ? -EIO : 0);
		return taken;
	}
	/* remove the hole before bytes that found no room */
	end = max(i_size_read(inode), at + taken);
	if (obj->variant.file_variant.file_size > end)
		yaffs_resize_file(obj, end);
	if (taken > 0)
		return taken;
	return fs->write_error ? -EIO : -ENOSPC;
}

/* promised: room is reserved for these bytes. */
static int write_bytes(struct inode *inode, const u8 *data, loff_t at,
		       int bytes, bool promised)
{
	struct yl_fs *fs = yl_of(inode);
	int taken;

	if (!bytes)
		return 0;
	yl_lock_for(fs, yl_obj(inode));
	if (!promised && fs->promised &&
	    !yl_room(fs, bytes / fs->dev.data_bytes_per_chunk + 2))
		taken = -ENOSPC;
	else
		taken = write_locked(inode, data, at, bytes);
	yl_times_to_obj(inode);
	yl_unlock(fs);
	mark_inode_dirty_sync(inode);
	return taken;
}

/*
 * A page that is not in the cache is read even if the write covers all of it,
 * as in YAFFS2's own port; past the end of a file that costs no flash
 * operation. A page that a mapping made dirty goes to the core first: if the
 * write fails, the page is read from there again.
 */
static int write_begin(struct file *file, struct address_space *mapping,
		       loff_t pos, unsigned int len,
		       WRITE_FLAGS_ARG write_target_t *target, void **data)
{
	write_target_t found = grab_target(mapping, pos, WRITE_FLAGS);
	struct page *page;
	int err = 0;

	if (!found)
		return -ENOMEM;
	page = target_page(found, pos);
	if (!PageUptodate(page))
		err = read_page_locked(mapping->host, page);
	else if (PageDirty(page))
		err = yl_store_page(page);
	if (err) {
		unlock_page(page);
		put_page(page);
		return err;
	}
	*target = found;
	return 0;
}

static int write_end(struct file *file, struct address_space *mapping,
		     loff_t pos, unsigned int len, unsigned int copied,
		     write_target_t target, void *data)
{
	struct inode *inode = mapping->host;
	struct page *page = target_page(target, pos);
	u8 *from = kmap(page);
	int taken;

	flush_dcache_page(page);
	taken = write_bytes(inode, from + offset_in_page(pos), pos, copied,
			    false);
	kunmap(page);
	if (taken != copied && read_page_locked(inode, page)) {
		/* it holds more than the file does, and it may be mapped */
		unmap_mapping_range(mapping, page_offset(page), PAGE_SIZE, 0);
		ClearPageUptodate(page);
	}
	if (taken > 0 && pos + taken > inode->i_size) {
		i_size_write(inode, pos + taken);
		inode->i_blocks = (pos + taken + 511) >> 9;
	}
	unlock_page(page);
	put_page(page);
	return taken;
}

/* Write the part of a locked page that lies in the file to the core. 0 or an
 * error. */
static int store(struct page *page)
{
	struct inode *inode = page->mapping->host;
	loff_t at = page_offset(page), left = i_size_read(inode) - at;
	int bytes = clamp_t(loff_t, left, 0, PAGE_SIZE), taken;
	u8 *data = kmap(page);

	memset(data + bytes, 0, PAGE_SIZE - bytes);
	yl_promise_end(page);
	taken = write_bytes(inode, data, at, bytes, true);
	kunmap(page);
	if (taken < 0)
		return taken;
	return taken < bytes ? -ENOSPC : 0;
}

/* Write back a page that was written to through a mapping. */
static int writepage(struct page *page, struct writeback_control *wbc)
{
	int err;

	set_page_writeback(page);
	err = store(page);
	mapping_set_error(page->mapping, err);
	unlock_page(page);
	end_page_writeback(page);
	return err;
}

/* The same, but early, for a page that is about to be changed. */
int yl_store_page(struct page *page)
{
	int err;

	if (!clear_page_dirty_for_io(page))
		return 0;
	set_page_writeback(page);
	err = store(page);
	end_page_writeback(page);
	if (err)
		set_page_dirty(page);
	return err;
}

static int flush_object(struct inode *inode, bool data_only)
{
	struct yl_fs *fs = yl_of(inode);
	int err = 0;

	yl_lock_for(fs, yl_obj(inode));
	if (!fs->dev.read_only)
		err = yl_flush_object(fs, yl_obj(inode), data_only);
	yl_unlock(fs);
	return err;
}

static int fsync(struct file *file, loff_t start, loff_t end, int data_only)
{
	int err = file_write_and_wait_range(file, start, end);
	int flushed = flush_object(file_inode(file), data_only);

	return err ? err : flushed;
}

/* Each close writes the rest of the data, and the header with size and times.
 */
static int flush(struct file *file, fl_owner_t id)
{
	if (!(file->f_mode & FMODE_WRITE))
		return 0;
	return flush_object(file_inode(file), false);
}

const struct address_space_operations yl_address_operations = {
#ifdef HAVE_READ_FOLIO
	.read_folio = read_folio,
#else
	.readpage = readpage,
#endif
#ifdef HAVE_DIRTY_FOLIO
	.dirty_folio = filemap_dirty_folio,
	.invalidate_folio = yl_invalidate,
#else
	.set_page_dirty = __set_page_dirty_nobuffers,
	.invalidatepage = yl_invalidate,
#endif
	.write_begin = write_begin,
	.write_end = write_end,
	.writepage = writepage,
};

const struct file_operations yl_file_operations = {
	.llseek = generic_file_llseek,
	.read_iter = generic_file_read_iter,
	.write_iter = generic_file_write_iter,
	.mmap = yl_mmap,
	.splice_read = SPLICE_READ,
	.splice_write = iter_file_splice_write,
	.flush = flush,
	.fsync = fsync,
};

const struct inode_operations yl_file_inode_operations = {
	.setattr = yl_setattr,
	.listxattr = yl_listxattr,
};

const struct inode_operations yl_special_inode_operations = {
	.setattr = yl_setattr,
	.listxattr = yl_listxattr,
};
