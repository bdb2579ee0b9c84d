/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the core gives to the monitors: a place to write events, a file in
 * /proc/tracers with the commands that all have in common, a filter by task.
 */
#ifndef TRACERS_H
#define TRACERS_H

#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/timekeeping.h>

#include "records.h"

struct seq_file;

extern atomic64_t tracers_seq;

/* Safe wherever a probe may sit, even inside timekeeping. */
static inline u64 tracers_clock(void)
{
	return ktime_get_mono_fast_ns();
}

/* An event begins: what its record has of that. */
static inline void record_open(struct trace_record *record)
{
	record->seq = atomic64_inc_return(&tracers_seq);
	record->start_ns = tracers_clock();
}

/* It ended: fills in the latency, the CPU and the task, and puts a copy of it
 * into the ring. False: it found no room, and was counted. */
bool record_write(struct trace_record *record, u64 end_ns);

enum monitor_state { MONITOR_STOPPED, MONITOR_RUNNING, MONITOR_PAUSED };

/* A tracer. Its functions are called with tracers_lock held. */
struct monitor {
	const char *name;
	u8 first_type; /* the records that are its own: first and last */
	u8 last_type;

	/* Puts its probes in: 0, or -errno and then none is in. */
	int (*start)(void);
	/* Takes them out; nothing of it runs any more afterwards. */
	void (*stop)(void);
	/* Forgets what it has counted. */
	void (*reset)(void);
	/* A command beyond the common ones. -ENOTTY: not one of its own. */
	int (*command)(const char *word, char *rest);
	/* A line "key value..." for each probe, count and filter. */
	void (*status)(struct seq_file *file);
	/* A line for each name that its records have as a number. */
	void (*names)(struct seq_file *file);
	/* Events that it knows it has not seen. */
	u64 (*missed)(void);

	/* The text log: a line of column names, and one for each record. */
	const char *columns;
	void (*show)(struct seq_file *file, const struct trace_record *record);

	/* The core's own. */
	enum monitor_state state;
	bool recording; /* what probes look at */
	u64 since;	/* its text log begins after this number */
	struct list_head list;
	struct proc_dir_entry *file;
};

extern struct mutex tracers_lock;
extern struct proc_dir_entry *tracers_dir;

int monitor_register(struct monitor *monitor);
void monitor_unregister(struct monitor *monitor);

/* Tells the kernel log and /proc/tracers/status why; returns err. */
__printf(2, 3) int tracers_refuse(int err, const char *format, ...);

bool tracers_task_matches(void);
extern bool tracers_task_filter;

/* Whether an event of this task, now, is to be recorded. */
static inline bool monitor_wants(const struct monitor *monitor)
{
	if (!READ_ONCE(monitor->recording))
		return false;
	return likely(!READ_ONCE(tracers_task_filter)) ||
	       tracers_task_matches();
}

/* The name of a record's type, and of its task. */
const char *trace_type_name(u8 type);
const char *trace_task_name(u16 task);

#endif
