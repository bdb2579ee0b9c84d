/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the core gives to the monitors: a place to write events, a file in
 * /proc/tracers with the commands that all monitors have, a filter by task.
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

/* An event begins: set its record's number and start time. */
static inline void record_open(struct trace_record *record)
{
	record->seq = atomic64_inc_return(&tracers_seq);
	record->start_ns = tracers_clock();
}

/* The event ended: fill in latency, CPU and task, and copy the record into the
 * ring. False: it was not recorded, and counted as lost or missed. */
bool record_write(struct trace_record *record, u64 end_ns);

enum monitor_state { MONITOR_STOPPED, MONITOR_RUNNING, MONITOR_PAUSED };

/* A tracer. Its functions are called with tracers_lock held. */
struct monitor {
	const char *name;
	u8 first_type; /* types of its own records: first and last */
	u8 last_type;

	/* Insert its probes. 0, or -errno and then none is inserted. */
	int (*start)(void);
	/* Remove them: calls that begin afterwards are not seen. */
	void (*stop)(void);
	/* Clear its counts. */
	void (*reset)(void);
	/* A command beyond the common ones. -ENOTTY: none of its own. */
	int (*command)(const char *word, char *rest);
	/* Print a line "key value..." for each probe, count and filter. */
	void (*status)(struct seq_file *file);
	/* Print a line for each name that its records give as a number. */
	void (*names)(struct seq_file *file);
	/* Number of events that it knows it missed. */
	u64 (*missed)(void);

	/* The text log: a line of column names, and one for each record. */
	const char *columns;
	void (*show)(struct seq_file *file, const struct trace_record *record);

	/* For the core. */
	enum monitor_state state;
	bool recording; /* probes check this */
	u64 since;	/* its text log begins after this number */
	struct list_head list;
	struct proc_dir_entry *file;
};

extern struct mutex tracers_lock;
extern struct proc_dir_entry *tracers_dir;

int monitor_register(struct monitor *monitor);
void monitor_unregister(struct monitor *monitor);

/* Log the reason, keep it for /proc/tracers/status, and return err. */
__printf(2, 3) int tracers_refuse(int err, const char *format, ...);

bool tracers_task_matches(void);
extern bool tracers_task_filter;

/* Whether an event of the current task is to be recorded now. */
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
