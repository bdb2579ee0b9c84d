// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * VFSMon: see vfs.h. This file puts the points in and writes their records;
 * vfs_look.c and vfs_fs.c have the points, vfs_filter.c the filter.
 */
#include <linux/fs_context.h>
#include <linux/module.h>
#include <linux/seq_file.h>

#include "vfs.h"

#define PROBES_MAX 40

/* Clear the fields that a point may leave alone and that nobody else writes.
 * Clearing the whole struct would take more instructions. */
static __always_inline void call_begin(struct vfs_call *call, u8 type)
{
	call->record.type = type;
	call->record.depth = 0;
	call->record.flags = 0;
	call->record.device = 0;
	call->record.object = 0;
	call->record.offset = 0;
	call->record.result = 0;
	call->record.extra = 0;
	call->size = 0;
	call->cache = NULL;
	call->mount = NULL;
}

static bool vfs_enter(struct probe *probe, const unsigned long *args,
		      void *data)
{
	struct vfs_point *point = container_of(probe, struct vfs_point, probe);
	struct vfs_call instant, *call = data ? data : &instant;

	call_begin(call, point->type);
	point->look(call, args);
	call->record.size = min_t(u64, call->size, U32_MAX);
	record_open(&call->record);
	if (call->cache)
		vfs_cache_look(call);
	if (point->instant)
		record_write(&call->record, call->record.start_ns);
	return true;
}
NOKPROBE_SYMBOL(vfs_enter);

static void vfs_leave(struct probe *probe, void *data, unsigned long result)
{
	u64 end_ns = tracers_clock();
	struct vfs_call *call = data;
	struct trace_record *record = &call->record;

	switch (record->type) {
	case TRACE_VFS_READ:
	case TRACE_VFS_WRITE:
	case TRACE_VFS_SPLICE:
		record->result = clamp_t(long, result, INT_MIN, INT_MAX);
		break;
	case TRACE_FS_LOOK_UP: /* returns a pointer or an ERR_PTR() */
		record->result = IS_ERR_VALUE(result) ? result : 0;
		break;
	case TRACE_VFS_RELEASE:
	case TRACE_VFS_EVICT:
	case TRACE_VFS_UNMOUNT:
		break; /* these return nothing */
	case TRACE_VFS_MOUNT:
		/* A mount has no file system before it has succeeded. */
		if (!(int)result && call->mount->root &&
		    vfs_passes(call->mount->root->d_sb))
			vfs_call_of_super(call, call->mount->root->d_sb);
		fallthrough;
	default:
		if (!(record->flags & TRACE_AROUND)) /* it may return nothing */
			record->result = result;
	}
	record_write(record, end_ns);
}
NOKPROBE_SYMBOL(vfs_leave);

/* A function of a module that may be unloaded meanwhile gets a kprobe: kprobes
 * are told of unloading. */
static bool point_may_detour(const struct vfs_point *point)
{
	bool of_vfs =
		point >= vfs_points && point < vfs_points + vfs_points_count;

	return of_vfs || vfs_filter_holds_module();
}

static void point_arm(struct vfs_point *point)
{
	const char *const *name;
	int err = -ENOENT;

	point->probe.wants = point->wants;
	point->probe.enter = vfs_enter;
	point->probe.leave = point->instant ? NULL : vfs_leave;
	point->probe.data_bytes = sizeof(struct vfs_call);
	point->probe.may_detour = point_may_detour(point);
	if (point->probe.address)
		err = probe_arm(&point->probe);
	for (name = point->candidates; err && name && *name; name++) {
		point->probe.name = *name;
		err = probe_arm(&point->probe);
	}
	if (err && !point->why_absent)
		point->why_absent = "the kernel has none that can be probed";
}

/* Call act on each point, those of the VFS first. */
static void each_point(void (*act)(struct vfs_point *point))
{
	unsigned int i;

	for (i = 0; i < vfs_points_count; i++)
		act(&vfs_points[i]);
	for (i = 0; i < vfs_fs_points_count; i++)
		act(&vfs_fs_points[i]);
}

static int vfs_start(void)
{
	int err = vfs_filter_start();

	if (err)
		return err;
	each_point(point_arm);
	return 0;
}

/* List all probes, for functions that take many at once. */
static unsigned int list_probes(struct probe **probes)
{
	unsigned int i, n = 0;

	for (i = 0; i < vfs_points_count; i++)
		probes[n++] = &vfs_points[i].probe;
	for (i = 0; i < vfs_fs_points_count; i++)
		probes[n++] = &vfs_fs_points[i].probe;
	return n;
}

static void vfs_stop(void)
{
	struct probe *probes[PROBES_MAX];

	probes_disarm(probes, list_probes(probes));
	vfs_filter_stop();
}

static void point_forget(struct vfs_point *point)
{
	probe_forget_missed(&point->probe);
}

static void vfs_reset(void)
{
	each_point(point_forget);
}

static u64 vfs_missed(void)
{
	unsigned int i;
	u64 missed = 0;

	for (i = 0; i < vfs_points_count; i++)
		missed += probe_missed(&vfs_points[i].probe);
	for (i = 0; i < vfs_fs_points_count; i++)
		missed += probe_missed(&vfs_fs_points[i].probe);
	return missed;
}

static int vfs_command(const char *word, char *rest)
{
	if (!strcmp(word, "op"))
		return vfs_fs_command(rest);
	return vfs_filter_command(word, rest);
}

static void point_status(struct seq_file *file, const struct vfs_point *point)
{
	const char *const *name = point->candidates;

	if (point->probe.armed) {
		seq_printf(file, "probe %s %s %s missed %llu\n",
			   trace_type_name(point->type), point->probe.name,
			   probe_kind(&point->probe),
			   probe_missed(&point->probe));
	} else if (point->why_absent) {
		seq_printf(file, "absent %s %s:", trace_type_name(point->type),
			   point->why_absent);
		for (; name && *name; name++)
			seq_printf(file, " %s", *name);
		seq_putc(file, '\n');
	}
}

static void vfs_status(struct seq_file *file)
{
	unsigned int i;

	vfs_filter_status(file);
	for (i = 0; i < vfs_points_count; i++)
		point_status(file, &vfs_points[i]);
	for (i = 0; i < vfs_fs_points_count; i++)
		point_status(file, &vfs_fs_points[i]);
}

static void vfs_names(struct seq_file *file)
{
}

static void vfs_show(struct seq_file *file, const struct trace_record *r)
{
	seq_printf(file, "%llu;%s;%llu;%llu;%u;%d;%u;%llu;%s\n", r->start_ns,
		   trace_type_name(r->type), r->object, r->offset, r->size,
		   r->result, r->extra, r->latency_ns,
		   trace_task_name(r->task));
}

struct monitor vfsmon = {
	.name = "vfsmon",
	.first_type = TRACE_VFS_FIRST,
	.last_type = TRACE_VFS_LAST,
	.start = vfs_start,
	.stop = vfs_stop,
	.reset = vfs_reset,
	.command = vfs_command,
	.status = vfs_status,
	.names = vfs_names,
	.missed = vfs_missed,
	.columns = "start_ns;event;inode;offset;size;result;extra;latency_ns;"
		   "task",
	.show = vfs_show,
};

static int __init vfsmon_init(void)
{
	if (WARN_ON(vfs_points_count + vfs_fs_points_count > PROBES_MAX))
		return -EINVAL;
	return monitor_register(&vfsmon);
}

static void __exit vfsmon_exit(void)
{
	struct probe *probes[PROBES_MAX];

	monitor_unregister(&vfsmon);
	probes_release(probes, list_probes(probes));
}

module_init(vfsmon_init);
module_exit(vfsmon_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Traces what is asked of a file system, and the page cache");
