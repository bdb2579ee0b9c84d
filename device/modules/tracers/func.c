// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * FuncMon: entry, return, duration and nesting of kernel functions that are
 * named at run time, at most 64.
 */
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/seq_file.h>

#include "func.h"

struct func funcs[FUNCS_MAX];
unsigned int funcs_count;

static bool log_calls = true;
static bool stopping;	    /* frames may be gone: do not touch any */
static atomic64_t no_stack; /* calls not followed: in too many tasks */

static bool func_enter(struct probe *probe, const unsigned long *args,
		       void *data)
{
	struct func *func = container_of(probe, struct func, probe);
	struct func_frame *frame = data;

	if (!monitor_wants(&funcmon))
		return false;
	if (!func_push(frame)) {
		atomic64_inc(&no_stack);
		return false;
	}
	atomic64_inc(&func->entered);
	frame->seq = atomic64_inc_return(&tracers_seq);
	frame->start_ns = tracers_clock();
	return true;
}
NOKPROBE_SYMBOL(func_enter);

static void write_record(const struct func *func, struct func_frame *frame,
			 u64 end_ns, unsigned long result)
{
	struct trace_record record = {
		.seq = frame->seq,
		.start_ns = frame->start_ns,
		.type = TRACE_FUNC,
		.depth = frame->depth,
		.object = func - funcs,
		.offset = frame->inner_ns,
		.result = result,
	};

	record_write(&record, end_ns);
}

static void func_leave(struct probe *probe, void *data, unsigned long result)
{
	struct func *func = container_of(probe, struct func, probe);
	struct func_frame *frame = data;
	u64 end_ns = tracers_clock();
	u64 ns = end_ns - frame->start_ns;

	if (READ_ONCE(stopping))
		return;
	func_pop(frame, ns);
	func_sums_add(func, ns, frame->inner_ns);
	if (log_calls)
		write_record(func, frame, end_ns, result);
}
NOKPROBE_SYMBOL(func_leave);

static struct func *func_find(const char *name)
{
	unsigned int i;

	for (i = 0; i < funcs_count; i++)
		if (!strcmp(funcs[i].name, name))
			return &funcs[i];
	return NULL;
}

static int func_add(const char *name)
{
	struct func *func = &funcs[funcs_count];

	if (!*name || strlen(name) >= FUNC_NAME_MAX)
		return tracers_refuse(-EINVAL, "funcmon: add: name a function");
	if (func_find(name))
		return 0;
	if (funcs_count == FUNCS_MAX)
		return tracers_refuse(-ENOSPC,
				      "funcmon: add: it can trace at most "
				      "%d functions",
				      FUNCS_MAX);
	*func = (struct func){};
	raw_spin_lock_init(&func->lock);
	strscpy(func->name, name, sizeof(func->name));
	func->probe.name = func->name;
	func->probe.enter = func_enter;
	func->probe.leave = func_leave;
	func->probe.data_bytes = sizeof(struct func_frame);
	if (!probe_possible(name) ||
	    (funcmon.state != MONITOR_STOPPED && probe_arm(&func->probe)))
		return tracers_refuse(-ENOENT,
				      "funcmon: add: the kernel has no "
				      "function '%s' that can be probed; it "
				      "may be inlined",
				      name);
	funcs_count++;
	return 0;
}

static int func_clear(void)
{
	if (funcmon.state != MONITOR_STOPPED)
		return tracers_refuse(-EBUSY, "funcmon: clear: stop it first");
	funcs_count = 0;
	return 0;
}

static void disarm_all(void)
{
	struct probe *probes[FUNCS_MAX];
	unsigned int i;

	WRITE_ONCE(stopping, true);
	synchronize_rcu();
	for (i = 0; i < funcs_count; i++)
		probes[i] = &funcs[i].probe;
	probes_disarm(probes, funcs_count);
	func_stacks_clear();
	WRITE_ONCE(stopping, false);
}

static int func_start(void)
{
	unsigned int i;
	int err;

	for (i = 0; i < funcs_count; i++) {
		err = probe_arm(&funcs[i].probe);
		if (!err)
			continue;
		disarm_all();
		return tracers_refuse(err, "funcmon: %s cannot be probed: %d",
				      funcs[i].name, err);
	}
	return 0;
}

static void func_reset(void)
{
	unsigned int i;

	for (i = 0; i < funcs_count; i++) {
		probe_forget_missed(&funcs[i].probe);
		func_sums_reset(&funcs[i]);
	}
	atomic64_set(&no_stack, 0);
}

static u64 func_missed(void)
{
	u64 missed = atomic64_read(&no_stack);
	unsigned int i;

	for (i = 0; i < funcs_count; i++)
		missed += probe_missed(&funcs[i].probe);
	return missed;
}

static int func_command(const char *word, char *rest)
{
	if (!strcmp(word, "add"))
		return func_add(rest);
	if (!strcmp(word, "clear") && !*rest)
		return func_clear();
	if (strcmp(word, "log"))
		return -ENOTTY;
	if (strcmp(rest, "on") && strcmp(rest, "off"))
		return tracers_refuse(-EINVAL, "funcmon: log: on or off");
	WRITE_ONCE(log_calls, !strcmp(rest, "on"));
	return 0;
}

static void func_status(struct seq_file *file)
{
	unsigned int i;

	seq_printf(file, "funcmon.log %s\n", log_calls ? "on" : "off");
	for (i = 0; i < funcs_count; i++)
		seq_printf(file, "probe FUNC %s %s missed %llu\n",
			   funcs[i].name, probe_kind(&funcs[i].probe),
			   probe_missed(&funcs[i].probe));
}

static void func_names(struct seq_file *file)
{
	unsigned int i;

	for (i = 0; i < funcs_count; i++)
		seq_printf(file, "function %u %s\n", i, funcs[i].name);
}

static void func_show(struct seq_file *file, const struct trace_record *r)
{
	const char *name =
		r->object < funcs_count ? funcs[r->object].name : "?";

	seq_printf(file, "%llu;%llu;%s;%u;%u;%llu;%s\n", r->start_ns,
		   r->start_ns + r->latency_ns, name, r->pid, r->depth,
		   r->latency_ns - r->offset, trace_task_name(r->task));
}

struct monitor funcmon = {
	.name = "funcmon",
	.first_type = TRACE_FUNC_FIRST,
	.last_type = TRACE_FUNC_LAST,
	.start = func_start,
	.stop = disarm_all,
	.reset = func_reset,
	.command = func_command,
	.status = func_status,
	.names = func_names,
	.missed = func_missed,
	.columns = "entry_ns;exit_ns;function;pid;depth;self_ns;task",
	.show = func_show,
};

static int __init funcmon_init(void)
{
	int err = monitor_register(&funcmon);

	if (err)
		return err;
	err = func_sums_init();
	if (err)
		monitor_unregister(&funcmon);
	return err;
}

static void __exit funcmon_exit(void)
{
	func_sums_exit();
	monitor_unregister(&funcmon);
}

module_init(funcmon_init);
module_exit(funcmon_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Traces entry and return of kernel functions");
