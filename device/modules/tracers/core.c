// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The core of the tracers: parameters, the list of monitors, the filter by
 * task, marks and the status. README.md says how to use it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/ctype.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/seq_file.h>

#include "core.h"

static unsigned long records = 16384;
module_param(records, ulong, 0444);
MODULE_PARM_DESC(records,
		 "records of each CPU's ring, 64 bytes each, rounded up to a "
		 "power of two; default 16384");
static uint tasks = 1024;
module_param(tasks, uint, 0444);
MODULE_PARM_DESC(tasks, "tasks that can be named, 1 to 32767; default 1024");

DEFINE_MUTEX(tracers_lock);
EXPORT_SYMBOL_GPL(tracers_lock);
LIST_HEAD(tracers_monitors);

static char last_refusal[160] = "none";

int tracers_refuse(int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(last_refusal, sizeof(last_refusal), format, args);
	va_end(args);
	pr_notice("%s\n", last_refusal);
	return err;
}
EXPORT_SYMBOL_GPL(tracers_refuse);

/* The filter by task: a thread or process by number, or a name. */
static struct {
	pid_t pid; /* 0: by name */
	char comm[TASK_COMM_LEN];
} wanted;
bool tracers_task_filter;
EXPORT_SYMBOL_GPL(tracers_task_filter);

bool tracers_task_matches(void)
{
	if (wanted.pid)
		return current->pid == wanted.pid ||
		       current->tgid == wanted.pid;
	return !strncmp(current->comm, wanted.comm, TASK_COMM_LEN);
}
EXPORT_SYMBOL_GPL(tracers_task_matches);

int tracers_set_task_filter(char *text)
{
	unsigned int pid;

	if (!*text)
		return tracers_refuse(-EINVAL,
				      "task: name one, or its number, or all");
	if (strlen(text) >= TASK_COMM_LEN)
		return tracers_refuse(-EINVAL,
				      "task: a name has at most %d characters",
				      TASK_COMM_LEN - 1);
	WRITE_ONCE(tracers_task_filter, false);
	if (!strcmp(text, "all"))
		return 0;
	wanted.pid = kstrtouint(text, 10, &pid) ? 0 : pid;
	strscpy(wanted.comm, text, sizeof(wanted.comm));
	smp_store_release(&tracers_task_filter, true);
	return 0;
}

int tracers_mark(const char *text)
{
	struct trace_record record = {.type = TRACE_MARK};

	if (!*text || strlen(text) > TRACE_MARK_MAX)
		return tracers_refuse(-EINVAL, "mark: 1 to %d bytes of text",
				      TRACE_MARK_MAX);
	record_open(&record);
	memcpy(record.text, text, strlen(text));
	if (!record_write(&record, record.start_ns))
		return tracers_refuse(-ENOSPC, "mark: the ring is full");
	return 0;
}

u64 tracers_missed(void)
{
	struct monitor *monitor;
	u64 missed = 0;

	list_for_each_entry (monitor, &tracers_monitors, list)
		missed += monitor->missed();
	return missed;
}

void tracers_reset_all(void)
{
	struct monitor *monitor;

	rings_reset();
	list_for_each_entry (monitor, &tracers_monitors, list) {
		monitor->since = 0;
		monitor->reset();
	}
}

int monitor_register(struct monitor *monitor)
{
	int err;

	mutex_lock(&tracers_lock);
	list_add_tail(&monitor->list, &tracers_monitors);
	mutex_unlock(&tracers_lock);
	err = proc_add(monitor);
	if (err)
		monitor_unregister(monitor);
	return err;
}
EXPORT_SYMBOL_GPL(monitor_register);

void monitor_unregister(struct monitor *monitor)
{
	proc_remove_monitor(monitor);
	mutex_lock(&tracers_lock);
	WRITE_ONCE(monitor->recording, false);
	if (monitor->state != MONITOR_STOPPED)
		monitor->stop();
	list_del(&monitor->list);
	mutex_unlock(&tracers_lock);
}
EXPORT_SYMBOL_GPL(monitor_unregister);

const char *trace_type_name(u8 type)
{
	switch (type) {
#define TYPE_NAME(number, name) \
	case number:            \
		return #name;
		TRACE_TYPES(TYPE_NAME)
#undef TYPE_NAME
	}
	return "?";
}
EXPORT_SYMBOL_GPL(trace_type_name);

void tracers_status(struct seq_file *file)
{
	static const char *const states[] = {"stopped", "running", "paused"};
	struct monitor *monitor;
	struct ring_sums sums;

	rings_sum(&sums);
	seq_printf(file, "mode %s\n", ring_overwrites ? "overwrite" : "full");
	seq_printf(file, "records_per_cpu %llu\n", rings_size());
	seq_printf(file, "written %llu\n", sums.written);
	seq_printf(file, "unread %llu\n", sums.unread);
	seq_printf(file, "lost %llu\n", sums.lost);
	seq_printf(file, "missed %llu\n", sums.missed + tracers_missed());
	tasks_status(file);
	if (!tracers_task_filter)
		seq_puts(file, "task all\n");
	else
		seq_printf(file, "task %s\n", wanted.comm);
	list_for_each_entry (monitor, &tracers_monitors, list) {
		seq_printf(file, "%s %s\n", monitor->name,
			   states[monitor->state]);
		seq_printf(file, "%s.missed %llu\n", monitor->name,
			   monitor->missed());
		monitor->status(file);
	}
	seq_printf(file, "refused %s\n", last_refusal);
}

static int __init tracers_init(void)
{
	int err;

	if (!records || records > 1UL << 26 || !tasks || tasks > 32767)
		return tracers_refuse(-EINVAL,
				      "not loaded: records must be 1 to 2^26, "
				      "tasks 1 to 32767");
	err = rings_init(records);
	if (err)
		return tracers_refuse(err, "not loaded: no memory for records");
	err = tasks_init(tasks);
	if (err)
		goto no_tasks;
	err = proc_init();
	if (err)
		goto no_proc;
	return 0;
no_proc:
	tasks_exit();
no_tasks:
	rings_exit();
	return err;
}

static void __exit tracers_exit(void)
{
	proc_exit();
	tasks_exit();
	rings_exit();
}

module_init(tracers_init);
module_exit(tracers_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Records and files that vfsmon, flashmon, funcmon share");
