// SPDX-License-Identifier: GPL-2.0-or-later
/* Points of the VFS and the page cache: which function, which arguments. */
#include <linux/fs.h>
#include <linux/fs_context.h>
#include <linux/kernel.h>
#include <linux/uio.h>

#include "compat.h"
#include "vfs.h"

#define ARG(type, n) ((type)args[n])

static bool look_open(struct vfs_call *call, const unsigned long *args)
{
	const struct path *path = ARG(const struct path *, 0);

	call->extra = ARG(const struct file *, 1)->f_flags;
	return vfs_call_of(call, d_backing_inode(path->dentry));
}

/* Pages past the end of the file are not read. */
static void to_cache(struct vfs_call *call, struct inode *inode)
{
	u64 length = i_size_read(inode);

	if (call->size && call->offset < length && S_ISREG(inode->i_mode))
		call->cache = inode->i_mapping;
}

static bool look_read(struct vfs_call *call, const unsigned long *args)
{
	const struct file *file = ARG(const struct file *, 0);
	const loff_t *pos = ARG(const loff_t *, 3);

	if (!vfs_call_of(call, file_inode(file)))
		return false;
	call->offset = pos ? *pos : file->f_pos;
	call->size = ARG(size_t, 2);
	if (!(file->f_flags & O_DIRECT))
		to_cache(call, file_inode(file));
	return true;
}

static bool look_write(struct vfs_call *call, const unsigned long *args)
{
	const struct file *file = ARG(const struct file *, 0);
	const loff_t *pos = ARG(const loff_t *, 3);

	if (!vfs_call_of(call, file_inode(file)))
		return false;
	call->offset = pos ? *pos : file->f_pos;
	if (file->f_flags & O_APPEND)
		call->offset = i_size_read(file_inode(file));
	call->size = ARG(size_t, 2);
	return true;
}

/* readv, writev and their like come here, once each. */
static bool look_vector(struct vfs_call *call, const unsigned long *args)
{
	const struct file *file = ARG(const struct file *, 0);
	const loff_t *pos = ARG(const loff_t *, 2);

	if (!vfs_call_of(call, file_inode(file)))
		return false;
	call->flags = TRACE_VECTOR;
	call->offset = pos ? *pos : file->f_pos;
	call->size = iov_iter_count(ARG(struct iov_iter *, 1));
	if (ARG(int, 3) == WRITE)
		call->type = TRACE_VFS_WRITE;
	else if (!(file->f_flags & O_DIRECT))
		to_cache(call, file_inode(file));
	return true;
}

static bool look_splice(struct vfs_call *call, const unsigned long *args)
{
	const struct file *file = ARG(const struct file *, 0);

	if (!vfs_call_of(call, file_inode(file)))
		return false;
	call->offset = *ARG(const loff_t *, 1);
	call->size = ARG(size_t, 4);
	to_cache(call, file_inode(file));
	return true;
}

static bool look_fsync(struct vfs_call *call, const unsigned long *args)
{
	loff_t start = ARG(loff_t, 1), end = ARG(loff_t, 2);

	call->offset = start;
	call->size = end == LLONG_MAX ? U32_MAX : end - start + 1;
	return vfs_call_of(call, file_inode(ARG(const struct file *, 0)));
}

static bool look_dentry(struct vfs_call *call, const unsigned long *args)
{
	const struct dentry *dentry =
		ARG(const struct dentry *, 1 + VFS_HAS_IDMAP);

	return vfs_call_of(call, d_backing_inode(dentry));
}

static bool look_mkdir(struct vfs_call *call, const unsigned long *args)
{
	return vfs_call_of(call, ARG(const struct inode *, VFS_HAS_IDMAP));
}

static bool look_rename(struct vfs_call *call, const unsigned long *args)
{
	const struct renamedata *data = ARG(const struct renamedata *, 0);

	return vfs_call_of(call, d_backing_inode(data->old_dentry));
}

static bool look_truncate(struct vfs_call *call, const unsigned long *args)
{
	const struct dentry *dentry = ARG(const struct dentry *, VFS_HAS_IDMAP);

	call->offset = ARG(loff_t, 1 + VFS_HAS_IDMAP);
	return vfs_call_of(call, d_backing_inode(dentry));
}

static bool look_file(struct vfs_call *call, const unsigned long *args)
{
	return vfs_call_of(call, file_inode(ARG(const struct file *, 0)));
}

static bool look_inode(struct vfs_call *call, const unsigned long *args)
{
	return vfs_call_of(call, ARG(const struct inode *, 0));
}

static bool look_fault(struct vfs_call *call, const unsigned long *args)
{
	const struct vm_fault *vmf = ARG(const struct vm_fault *, 0);
	const struct file *file = vmf->vma->vm_file;

	if (!file || !vfs_call_of(call, file_inode(file)))
		return false;
	call->offset = (u64)vmf->pgoff << PAGE_SHIFT;
	call->size = PAGE_SIZE;
	to_cache(call, file_inode(file));
	return true;
}

static bool look_fault_around(struct vfs_call *call, const unsigned long *args)
{
	const struct vm_fault *vmf = ARG(const struct vm_fault *, 0);
	const struct file *file = vmf->vma->vm_file;
	u64 first = ARG(unsigned long, 1), last = ARG(unsigned long, 2);

	call->flags = TRACE_AROUND;
	call->offset = first << PAGE_SHIFT;
	call->size = (last - first + 1) << PAGE_SHIFT;
	return file && vfs_call_of(call, file_inode(file));
}

static bool look_mount(struct vfs_call *call, const unsigned long *args)
{
	call->mount = ARG(const struct fs_context *, 0);
	return vfs_call_of_none(call);
}

static bool look_super(struct vfs_call *call, const unsigned long *args)
{
	return vfs_call_of_super(call, ARG(const struct super_block *, 0));
}

static bool look_sync_all(struct vfs_call *call, const unsigned long *args)
{
	return vfs_call_of_none(call);
}

static bool look_ra(struct vfs_call *call, const unsigned long *args)
{
	const struct readahead_control *control =
		ARG(const struct readahead_control *, 0);

	call->offset = control->_index;
	return vfs_call_of(call, control->mapping->host);
}

static bool look_sync_ra(struct vfs_call *call, const unsigned long *args)
{
	call->size = ARG(unsigned long, RA_IN_CONTROL ? 1 : 2);
	return look_ra(call, args);
}

static bool look_async_ra(struct vfs_call *call, const unsigned long *args)
{
	call->size = ARG(unsigned long, RA_IN_CONTROL ? 2 : 3);
	return look_ra(call, args);
}

static bool look_ra_submit(struct vfs_call *call, const unsigned long *args)
{
	call->size = ARG(unsigned long, 1);
	call->extra = ARG(unsigned long, 2);
	return look_ra(call, args);
}

#define POINT(kind, how, ...)                       \
	{                                           \
		.type = TRACE_##kind, .look = how,  \
		.candidates = (const char *const[]) \
		{                                   \
			__VA_ARGS__, NULL           \
		}                                   \
	}
#define INSTANT(kind, how, ...)                                     \
	{                                                           \
		.type = TRACE_##kind, .look = how, .instant = true, \
		.candidates = (const char *const[])                 \
		{                                                   \
			__VA_ARGS__, NULL                           \
		}                                                   \
	}

struct vfs_point vfs_points[] = {
	POINT(VFS_OPEN, look_open, "vfs_open"),
	POINT(VFS_READ, look_read, "vfs_read"),
	POINT(VFS_WRITE, look_write, "vfs_write"),
	POINT(VFS_READ, look_vector, "do_iter_readv_writev"),
	POINT(VFS_SPLICE, look_splice, "do_splice_direct"),
	POINT(VFS_FSYNC, look_fsync, "vfs_fsync_range"),
	POINT(VFS_UNLINK, look_dentry, "vfs_unlink"),
	POINT(VFS_RENAME, look_rename, "vfs_rename"),
	POINT(VFS_MKDIR, look_mkdir, "vfs_mkdir"),
	POINT(VFS_RMDIR, look_dentry, "vfs_rmdir"),
	POINT(VFS_TRUNCATE, look_truncate, "do_truncate"),
	POINT(VFS_FAULT, look_fault, "filemap_fault"),
	POINT(VFS_FAULT, look_fault_around, "filemap_map_pages"),
	POINT(VFS_CLOSE, look_file, "filp_flush", "filp_close"),
	POINT(VFS_RELEASE, look_file, "__fput"),
	POINT(VFS_EVICT, look_inode, "evict"),
	POINT(VFS_MOUNT, look_mount, "vfs_get_tree"),
	POINT(VFS_UNMOUNT, look_super, "generic_shutdown_super"),
	POINT(VFS_SYNC, look_super, "sync_filesystem"),
	POINT(VFS_SYNC, look_sync_all, "ksys_sync"),
	POINT(VFS_WRITEBACK, look_inode, "__writeback_single_inode"),
	INSTANT(SYNC_RA, look_sync_ra, "page_cache_sync_ra"),
	INSTANT(ASYNC_RA, look_async_ra, "page_cache_async_ra"),
	INSTANT(RA_SUBMIT, look_ra_submit, "page_cache_ra_unbounded"),
};

const unsigned int vfs_points_count = ARRAY_SIZE(vfs_points);

static bool page_in_cache(struct address_space *mapping, pgoff_t at)
{
	file_page *page;
	bool in;

	rcu_read_lock();
	page = xa_load(&mapping->i_pages, at);
	in = page && !xa_is_value(page) && file_page_uptodate(page);
	rcu_read_unlock();
	return in;
}

static void record_run(const struct vfs_call *call, bool hit, u64 first, u64 n)
{
	struct vfs_call run = {
		.type = hit ? TRACE_PC_HIT : TRACE_PC_MISS,
		.inode = call->inode,
		.device = call->device,
		.offset = first,
		.size = n,
	};

	/* At the read's own time: it saves asking the clock again. */
	run.span.seq = atomic64_inc_return(&tracers_seq);
	run.span.start_ns = call->span.start_ns;
	vfs_record(&run, run.span.start_ns, 0);
}

void vfs_cache_look(struct vfs_call *call)
{
	u64 length = i_size_read(call->cache->host);
	u64 at = call->offset >> PAGE_SHIFT, first = at;
	u64 end = min(call->offset + call->size, length);
	bool hit = false, last_hit = false;

	end = (end + PAGE_SIZE - 1) >> PAGE_SHIFT;
	for (; at < end; at++, last_hit = hit) {
		hit = page_in_cache(call->cache, at);
		call->extra += hit;
		if (at == first || hit == last_hit)
			continue;
		record_run(call, last_hit, first, at - first);
		first = at;
	}
	if (first < end)
		record_run(call, hit, first, end - first);
}
