// SPDX-License-Identifier: GPL-2.0-or-later
/* Points of the VFS and the page cache: which function, which arguments. */
#include <linux/fs.h>
#include <linux/fs_context.h>
#include <linux/kernel.h>
#include <linux/uio.h>

#include "compat.h"
#include "vfs.h"

WANTS(path, d_backing_inode(ARG(const struct path *, 0)->dentry))
WANTS(file, file_inode(ARG(const struct file *, 0)))
WANTS(dentry, d_backing_inode(ARG(const struct dentry *, 1 + VFS_HAS_IDMAP)))
WANTS(parent, ARG(const struct inode *, VFS_HAS_IDMAP))
WANTS(rename, d_backing_inode(ARG(const struct renamedata *, 0)->old_dentry))
WANTS(truncate, d_backing_inode(ARG(const struct dentry *, VFS_HAS_IDMAP)))
WANTS(inode, ARG(const struct inode *, 0))
WANTS(control, ARG(const struct readahead_control *, 0)->mapping->host)

static bool wants_fault(struct probe *probe, const unsigned long *args)
{
	const struct file *file = ARG(const struct vm_fault *, 0)->vma->vm_file;

	return file && vfs_wants(file_inode(file));
}

static bool wants_super(struct probe *probe, const unsigned long *args)
{
	return monitor_wants(&vfsmon) &&
	       vfs_passes(ARG(const struct super_block *, 0));
}

/* A call before a file system exists (mount), or on none in particular
 * (sync). */
static bool wants_mount(struct probe *probe, const unsigned long *args)
{
	return monitor_wants(&vfsmon) &&
	       (vfs_filter.kind != FILTER_TYPE ||
		ARG(const struct fs_context *, 0)->fs_type == vfs_filter.type);
}

static bool wants_any(struct probe *probe, const unsigned long *args)
{
	return monitor_wants(&vfsmon);
}

static void look_open(struct vfs_call *call, const unsigned long *args)
{
	const struct path *path = ARG(const struct path *, 0);

	call->record.extra = ARG(const struct file *, 1)->f_flags;
	vfs_call_of(call, d_backing_inode(path->dentry));
}

/* Pages past the end of the file are not read. */
static void to_cache(struct vfs_call *call, struct inode *inode)
{
	u64 length = i_size_read(inode);

	if (call->size && call->record.offset < length &&
	    S_ISREG(inode->i_mode))
		call->cache = inode->i_mapping;
}

static void look_read(struct vfs_call *call, const unsigned long *args)
{
	const struct file *file = ARG(const struct file *, 0);
	const loff_t *pos = ARG(const loff_t *, 3);

	vfs_call_of(call, file_inode(file));
	call->record.offset = pos ? *pos : file->f_pos;
	call->size = ARG(size_t, 2);
	if (!(file->f_flags & O_DIRECT))
		to_cache(call, file_inode(file));
}

static void look_write(struct vfs_call *call, const unsigned long *args)
{
	const struct file *file = ARG(const struct file *, 0);
	const loff_t *pos = ARG(const loff_t *, 3);

	vfs_call_of(call, file_inode(file));
	call->record.offset = pos ? *pos : file->f_pos;
	if (file->f_flags & O_APPEND)
		call->record.offset = i_size_read(file_inode(file));
	call->size = ARG(size_t, 2);
}

/* readv, writev and their like come here, once each. */
static void look_vector(struct vfs_call *call, const unsigned long *args)
{
	const struct file *file = ARG(const struct file *, 0);
	const loff_t *pos = ARG(const loff_t *, 2);

	vfs_call_of(call, file_inode(file));
	call->record.flags = TRACE_VECTOR;
	call->record.offset = pos ? *pos : file->f_pos;
	call->size = iov_iter_count(ARG(struct iov_iter *, 1));
	if (ARG(int, 3) == WRITE)
		call->record.type = TRACE_VFS_WRITE;
	else if (!(file->f_flags & O_DIRECT))
		to_cache(call, file_inode(file));
}

static void look_splice(struct vfs_call *call, const unsigned long *args)
{
	const struct file *file = ARG(const struct file *, 0);

	vfs_call_of(call, file_inode(file));
	call->record.offset = *ARG(const loff_t *, 1);
	call->size = ARG(size_t, 4);
	to_cache(call, file_inode(file));
}

static void look_fsync(struct vfs_call *call, const unsigned long *args)
{
	loff_t start = ARG(loff_t, 1), end = ARG(loff_t, 2);

	call->record.offset = start;
	call->size = end == LLONG_MAX ? U32_MAX : end - start + 1;
	vfs_call_of(call, file_inode(ARG(const struct file *, 0)));
}

static void look_dentry(struct vfs_call *call, const unsigned long *args)
{
	const struct dentry *dentry =
		ARG(const struct dentry *, 1 + VFS_HAS_IDMAP);

	vfs_call_of(call, d_backing_inode(dentry));
}

static void look_mkdir(struct vfs_call *call, const unsigned long *args)
{
	vfs_call_of(call, ARG(const struct inode *, VFS_HAS_IDMAP));
}

static void look_rename(struct vfs_call *call, const unsigned long *args)
{
	const struct renamedata *data = ARG(const struct renamedata *, 0);

	vfs_call_of(call, d_backing_inode(data->old_dentry));
}

static void look_truncate(struct vfs_call *call, const unsigned long *args)
{
	const struct dentry *dentry = ARG(const struct dentry *, VFS_HAS_IDMAP);

	call->record.offset = ARG(loff_t, 1 + VFS_HAS_IDMAP);
	vfs_call_of(call, d_backing_inode(dentry));
}

static void look_file(struct vfs_call *call, const unsigned long *args)
{
	vfs_call_of(call, file_inode(ARG(const struct file *, 0)));
}

static void look_inode(struct vfs_call *call, const unsigned long *args)
{
	vfs_call_of(call, ARG(const struct inode *, 0));
}

static void look_fault(struct vfs_call *call, const unsigned long *args)
{
	const struct vm_fault *vmf = ARG(const struct vm_fault *, 0);
	const struct file *file = vmf->vma->vm_file;

	vfs_call_of(call, file_inode(file));
	call->record.offset = (u64)vmf->pgoff << PAGE_SHIFT;
	call->size = PAGE_SIZE;
	to_cache(call, file_inode(file));
}

static void look_fault_around(struct vfs_call *call, const unsigned long *args)
{
	const struct vm_fault *vmf = ARG(const struct vm_fault *, 0);
	const struct file *file = vmf->vma->vm_file;
	u64 first = ARG(unsigned long, 1), last = ARG(unsigned long, 2);

	call->record.flags = TRACE_AROUND;
	call->record.offset = first << PAGE_SHIFT;
	call->size = (last - first + 1) << PAGE_SHIFT;
	vfs_call_of(call, file_inode(file));
}

static void look_mount(struct vfs_call *call, const unsigned long *args)
{
	call->mount = ARG(const struct fs_context *, 0);
}

static void look_super(struct vfs_call *call, const unsigned long *args)
{
	vfs_call_of_super(call, ARG(const struct super_block *, 0));
}

static void look_sync_all(struct vfs_call *call, const unsigned long *args)
{
}

static void look_ra(struct vfs_call *call, const unsigned long *args)
{
	const struct readahead_control *control =
		ARG(const struct readahead_control *, 0);

	call->record.offset = control->_index;
	vfs_call_of(call, control->mapping->host);
}

static void look_sync_ra(struct vfs_call *call, const unsigned long *args)
{
	call->size = ARG(unsigned long, RA_IN_CONTROL ? 1 : 2);
	look_ra(call, args);
}

static void look_async_ra(struct vfs_call *call, const unsigned long *args)
{
	call->size = ARG(unsigned long, RA_IN_CONTROL ? 2 : 3);
	look_ra(call, args);
}

static void look_ra_submit(struct vfs_call *call, const unsigned long *args)
{
	call->size = ARG(unsigned long, 1);
	call->record.extra = ARG(unsigned long, 2);
	look_ra(call, args);
}

#define POINT(kind, who, how, ...)                                      \
	{                                                               \
		.type = TRACE_##kind, .wants = wants_##who,             \
		.look = look_##how, .candidates = (const char *const[]) \
		{                                                       \
			__VA_ARGS__, NULL                               \
		}                                                       \
	}
#define INSTANT(kind, who, how, ...)                        \
	{                                                   \
		.type = TRACE_##kind, .wants = wants_##who, \
		.look = look_##how, .instant = true,        \
		.candidates = (const char *const[])         \
		{                                           \
			__VA_ARGS__, NULL                   \
		}                                           \
	}

/* In Debian's 5.10 the compiler has split vfs_rmdir(): all but its checks is in
 * vfs_rmdir.part.0(), with the same arguments, and its only caller calls that.
 * Later kernels do not split it; a split function there would lack the unused
 * id map. */
#if VFS_HAS_IDMAP
#define RMDIR_CANDIDATES "vfs_rmdir"
#else
#define RMDIR_CANDIDATES "vfs_rmdir.part.0", "vfs_rmdir"
#endif

struct vfs_point vfs_points[] = {
	POINT(VFS_OPEN, path, open, "vfs_open"),
	POINT(VFS_READ, file, read, "vfs_read"),
	POINT(VFS_WRITE, file, write, "vfs_write"),
	POINT(VFS_READ, file, vector, "do_iter_readv_writev"),
	POINT(VFS_SPLICE, file, splice, "do_splice_direct"),
	POINT(VFS_FSYNC, file, fsync, "vfs_fsync_range"),
	POINT(VFS_UNLINK, dentry, dentry, "vfs_unlink"),
	POINT(VFS_RENAME, rename, rename, "vfs_rename"),
	POINT(VFS_MKDIR, parent, mkdir, "vfs_mkdir"),
	POINT(VFS_RMDIR, dentry, dentry, RMDIR_CANDIDATES),
	POINT(VFS_TRUNCATE, truncate, truncate, "do_truncate"),
	POINT(VFS_FAULT, fault, fault, "filemap_fault"),
	POINT(VFS_FAULT, fault, fault_around, "filemap_map_pages"),
	POINT(VFS_CLOSE, file, file, "filp_flush", "filp_close"),
	POINT(VFS_RELEASE, file, file, "__fput"),
	POINT(VFS_EVICT, inode, inode, "evict"),
	POINT(VFS_MOUNT, mount, mount, "vfs_get_tree"),
	POINT(VFS_UNMOUNT, super, super, "generic_shutdown_super"),
	POINT(VFS_SYNC, super, super, "sync_filesystem"),
	POINT(VFS_SYNC, any, sync_all, "ksys_sync"),
	POINT(VFS_WRITEBACK, inode, inode, "__writeback_single_inode"),
	INSTANT(SYNC_RA, control, sync_ra, "page_cache_sync_ra"),
	INSTANT(ASYNC_RA, control, async_ra, "page_cache_async_ra"),
	INSTANT(RA_SUBMIT, control, ra_submit, "page_cache_ra_unbounded"),
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
	/* At the read's own time: this saves reading the clock again. */
	struct trace_record run = {
		.seq = atomic64_inc_return(&tracers_seq),
		.start_ns = call->record.start_ns,
		.type = hit ? TRACE_PC_HIT : TRACE_PC_MISS,
		.object = call->record.object,
		.device = call->record.device,
		.offset = first,
		.size = min_t(u64, n, U32_MAX),
	};

	record_write(&run, run.start_ns);
}

void vfs_cache_look(struct vfs_call *call)
{
	u64 length = i_size_read(call->cache->host);
	u64 at = call->record.offset >> PAGE_SHIFT, first = at;
	u64 end = min(call->record.offset + call->size, length);
	bool hit = false, last_hit = false;

	end = (end + PAGE_SIZE - 1) >> PAGE_SHIFT;
	for (; at < end; at++, last_hit = hit) {
		hit = page_in_cache(call->cache, at);
		call->record.extra += hit;
		if (at == first || hit == last_hit)
			continue;
		record_run(call, last_hit, first, at - first);
		first = at;
	}
	if (first < end)
		record_run(call, hit, first, end - first);
}
