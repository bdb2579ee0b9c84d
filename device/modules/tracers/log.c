// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The logs as text: what was in the rings when the file was opened, in the
 * order in which events began. A monitor's file has its own records and the
 * marks; the file control has all, with the same columns for each but marks.
 */
#include <linux/cpumask.h>
#include <linux/fs.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/vmalloc.h>

#include "compat.h"
#include "core.h"

/* The records of one CPU, sorted; next is the first not yet shown. */
struct part {
	u64 first;
	u64 next;
	u64 end;
};

struct log {
	const struct monitor *monitor; /* NULL: all */
	u64 count;
	loff_t at; /* records that the parts have given */
	struct trace_record *records;
	struct part parts[];
};

static bool belongs(const struct monitor *monitor, const struct trace_record *r)
{
	if (!monitor)
		return true;
	return r->seq > monitor->since &&
	       (r->type == TRACE_MARK || (r->type >= monitor->first_type &&
					  r->type <= monitor->last_type));
}

/* Insertion sort: they are nearly sorted, an interval comes after those inside
 * it. */
static void sort_part(struct trace_record *records, u64 count)
{
	struct trace_record one;
	u64 i, to;

	for (i = 1; i < count; i++) {
		for (to = i; to && records[to - 1].seq > records[i].seq; to--)
			;
		if (to == i)
			continue;
		one = records[i];
		memmove(&records[to + 1], &records[to], (i - to) * sizeof(one));
		records[to] = one;
	}
}

static void copy_part(struct log *log, unsigned int cpu, u64 room)
{
	const struct ring *ring = ring_of(cpu);
	struct part *part = &log->parts[cpu];
	u64 i, n, from = ring_oldest(ring);
	struct trace_record *to = log->records + log->count;

	n = ring_copy(ring, &from, to, room);
	part->first = log->count;
	for (i = 0; i < n; i++)
		if (belongs(log->monitor, &to[i]))
			log->records[log->count++] = to[i];
	sort_part(to, log->count - part->first);
	part->end = log->count;
	part->next = part->first;
}

static struct log *log_take(const struct monitor *monitor)
{
	struct log *log;
	unsigned int cpu;
	u64 room = 1;

	log = vzalloc(struct_size(log, parts, nr_cpu_ids));
	if (!log)
		return NULL;
	for_each_possible_cpu(cpu) room +=
		min(rings_size(), ring_of(cpu)->done);
	log->monitor = monitor;
	log->records = vmalloc(room * sizeof(*log->records));
	if (!log->records) {
		vfree(log);
		return NULL;
	}
	for_each_possible_cpu(cpu)
		copy_part(log, cpu, min(rings_size(), room - log->count));
	return log;
}

/* The part whose next record has the lowest number; NULL at the end. */
static struct part *first_part(struct log *log)
{
	struct part *part, *first = NULL;
	unsigned int cpu;

	for_each_possible_cpu(cpu)
	{
		part = &log->parts[cpu];
		if (part->next < part->end &&
		    (!first || log->records[part->next].seq <
				       log->records[first->next].seq))
			first = part;
	}
	return first;
}

static void log_rewind(struct log *log)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu) log->parts[cpu].next = log->parts[cpu].first;
	log->at = 0;
}

/* Position 0 is the line of column names. */
static void *log_start(struct seq_file *file, loff_t *pos)
{
	struct log *log = file->private;
	struct part *part = NULL;

	if (!*pos)
		return SEQ_START_TOKEN;
	if (*pos - 1 < log->at)
		log_rewind(log);
	while ((part = first_part(log)) && log->at < *pos - 1) {
		part->next++;
		log->at++;
	}
	return part ? &log->records[part->next] : NULL;
}

static void *log_next(struct seq_file *file, void *v, loff_t *pos)
{
	++*pos;
	return log_start(file, pos);
}

static void log_stop(struct seq_file *file, void *v)
{
}

static void show_any(struct seq_file *file, const struct trace_record *r)
{
	seq_printf(file,
		   "%llu;%llu;%llu;%u;%u;%s;%s;%u;%llu;%llu;%u;%d;%u;%u;%u\n",
		   r->seq, r->start_ns, r->latency_ns, r->cpu, r->pid,
		   trace_task_name(r->task), trace_type_name(r->type),
		   r->device, r->object, r->offset, r->size, r->result,
		   r->extra, r->depth, r->flags);
}

static int log_show(struct seq_file *file, void *v)
{
	const struct monitor *monitor = ((struct log *)file->private)->monitor;
	const struct trace_record *r = v;

	if (v == SEQ_START_TOKEN)
		seq_printf(file, "%s\n",
			   monitor ? monitor->columns
				   : "seq;start_ns;latency_ns;cpu;pid;task;"
				     "event;device;object;offset;size;result;"
				     "extra;depth;flags");
	else if (r->type == TRACE_MARK)
		seq_printf(file, "%llu;MARK;%.*s;%s\n", r->start_ns,
			   TRACE_MARK_MAX, r->text, trace_task_name(r->task));
	else if (monitor)
		monitor->show(file, r);
	else
		show_any(file, r);
	return 0;
}

static const struct seq_operations log_seq_ops = {
	.start = log_start,
	.next = log_next,
	.stop = log_stop,
	.show = log_show,
};

int log_open(struct inode *inode, struct file *file)
{
	struct log *log;
	int err;

	if (!(file->f_mode & FMODE_READ))
		return 0;
	log = log_take(pde_data(inode));
	if (!log)
		return -ENOMEM;
	err = seq_open(file, &log_seq_ops);
	if (err) {
		vfree(log->records);
		vfree(log);
		return err;
	}
	((struct seq_file *)file->private_data)->private = log;
	return 0;
}

int log_release(struct inode *inode, struct file *file)
{
	struct seq_file *seq = file->private_data;
	struct log *log;

	if (!(file->f_mode & FMODE_READ))
		return 0;
	log = seq->private;
	vfree(log->records);
	vfree(log);
	return seq_release(inode, file);
}
