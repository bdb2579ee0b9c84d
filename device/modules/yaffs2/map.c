// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Shared writable mappings. Room for a page is promised at the fault when it is
 * first written to: a full disk then shows at once, as a bus error, and not at
 * write-back, when nobody may be left to get the error. A page with such a
 * promise has the flag PG_private until it is written back or truncated.
 */
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/writeback.h>

#include "yaffs2.h"

/* Chunks that a page can lie in: with inband tags, pages and chunks are not
 * aligned. */
static unsigned int chunks_of_page(struct yl_fs *fs)
{
	return PAGE_SIZE / fs->dev.data_bytes_per_chunk + 2;
}

/* Call with the lock held. Whether there is room for more than what is
 * promised. */
bool yl_room(struct yl_fs *fs, unsigned int chunks)
{
	return yaffs_check_alloc_available(
		&fs->dev, fs->promised * chunks_of_page(fs) + chunks);
}

/* What may go to flash before a promised page, without a check for room: the
 * core's cache, and a checkpoint that grows. */
static unsigned int before_others(struct yl_fs *fs)
{
	return fs->dev.param.n_caches + fs->dev.param.chunks_per_block;
}

static bool promise(struct yl_fs *fs, struct page *page)
{
	bool room;

	if (PagePrivate(page))
		return true;
	yl_lock(fs);
	room = yl_room(fs, chunks_of_page(fs) + before_others(fs));
	fs->promised += room;
	yl_unlock(fs);
	if (room)
		attach_page_private(page, (void *)1);
	return room;
}

/* Call with the page locked. */
void yl_promise_end(struct page *page)
{
	struct yl_fs *fs = yl_of(page->mapping->host);

	if (!PagePrivate(page))
		return;
	detach_page_private(page);
	yl_lock(fs);
	fs->promised--;
	yl_unlock(fs);
}

void yl_invalidate(INVALIDATE_ARGS)
{
	if (!offset && bytes == PAGE_SIZE)
		yl_promise_end(INVALIDATE_PAGE);
}

static vm_fault_t make_writable(struct vm_fault *vmf)
{
	struct inode *inode = file_inode(vmf->vma->vm_file);
	struct page *page = vmf->page;
	vm_fault_t result = VM_FAULT_LOCKED;

	sb_start_pagefault(inode->i_sb);
	file_update_time(vmf->vma->vm_file);
	lock_page(page);
	if (page->mapping != inode->i_mapping ||
	    page_offset(page) >= i_size_read(inode))
		result = VM_FAULT_NOPAGE; /* it was truncated meanwhile */
	else if (!promise(yl_of(inode), page))
		result = VM_FAULT_SIGBUS;
	else
		set_page_dirty(page);
	if (result != VM_FAULT_LOCKED)
		unlock_page(page);
	else
		wait_for_stable_page(page);
	sb_end_pagefault(inode->i_sb);
	return result;
}

static const struct vm_operations_struct operations = {
	.fault = filemap_fault,
	.map_pages = filemap_map_pages,
	.page_mkwrite = make_writable,
};

int yl_mmap(struct file *file, struct vm_area_struct *vma)
{
	int err = generic_file_mmap(file, vma);

	if (!err)
		vma->vm_ops = &operations;
	return err;
}
