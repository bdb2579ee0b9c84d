// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Regular files. As in YAFFS2's own port, reads come through the page cache,
 * and a write goes on to the core as soon as it is in the page (write_end), so
 * that pages are never dirty but through a shared mapping. What remains in RAM
 * is less than a flash page at a time, in the core's own cache, until the file
 * is closed or synced.
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
	yl_unlock(fs);
	/* the core hands over what is on flash past the end of the file */
	if (at + PAGE_SIZE > size)
		memset(data + max_t(loff_t, size - at, 0), 0,
		       PAGE_SIZE - max_t(loff_t, size - at, 0));
	flush_dcache_page(page);
	kunmap(page);
	if (err)
		ClearPageUptodate(page);
	else
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

/* Bytes that the core took; an error if it took none of them. */
static int write_bytes(struct inode *inode, const u8 *data, loff_t at,
		       int bytes)
{
	struct yl_fs *fs = yl_of(inode);
	int taken;

	if (!bytes)
		return 0;
	yl_lock(fs);
	taken = yaffs_wr_file(yl_obj(inode), data, at, bytes, 0);
	if (taken <= 0)
		taken = fs->write_error ? -EIO : -ENOSPC;
	yl_times_to_obj(inode);
	yl_unlock(fs);
	return taken;
}

/*
 * A page that is not there is read even if the write covers all of it, as
 * YAFFS2's own port does; past the end of a file that costs no flash.
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
	taken = write_bytes(inode, from + offset_in_page(pos), pos, copied);
	kunmap(page);
	if (taken != copied)
		ClearPageUptodate(page); /* it holds more than the file does */
	if (taken > 0 && pos + taken > inode->i_size) {
		i_size_write(inode, pos + taken);
		inode->i_blocks = (pos + taken + 511) >> 9;
	}
	unlock_page(page);
	put_page(page);
	return taken;
}

/* A page that somebody wrote to through a mapping. */
static int writepage(struct page *page, struct writeback_control *wbc)
{
	struct address_space *mapping = page->mapping;
	struct inode *inode = mapping->host;
	loff_t at = page_offset(page), left = i_size_read(inode) - at;
	int bytes = clamp_t(loff_t, left, 0, PAGE_SIZE), taken;
	u8 *data = kmap(page);

	memset(data + bytes, 0, PAGE_SIZE - bytes);
	set_page_writeback(page);
	taken = write_bytes(inode, data, at, bytes);
	kunmap(page);
	if (taken != bytes)
		mapping_set_error(mapping, taken < 0 ? taken : -ENOSPC);
	unlock_page(page);
	end_page_writeback(page);
	return taken < 0 ? taken : 0;
}

static int flush_object(struct inode *inode, bool data_only)
{
	struct yl_fs *fs = yl_of(inode);
	int err;

	yl_lock(fs);
	err = fs->dev.read_only ? 0
				: yl_flush_object(fs, yl_obj(inode), data_only);
	yl_unlock(fs);
	return err;
}

static int fsync(struct file *file, loff_t start, loff_t end, int data_only)
{
	int err = file_write_and_wait_range(file, start, end);

	return err ? err : flush_object(file_inode(file), data_only);
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
#else
	.set_page_dirty = __set_page_dirty_nobuffers,
#endif
	.write_begin = write_begin,
	.write_end = write_end,
	.writepage = writepage,
};

const struct file_operations yl_file_operations = {
	.llseek = generic_file_llseek,
	.read_iter = generic_file_read_iter,
	.write_iter = generic_file_write_iter,
	.mmap = generic_file_mmap,
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
