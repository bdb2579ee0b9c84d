// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names of tasks: a table of threads and names; records have the number of an
 * entry. A CPU remembers the last entry that it looked up, so a record costs
 * two comparisons as long as the same task runs.
 */
#include <linux/hash.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/vmalloc.h>

#include "core.h"

struct task_name {
	u32 pid;
	bool kernel; /* a kernel thread */
	char comm[TASK_COMM_LEN];
};

DEFINE_PER_CPU(struct last_task, last_tasks);
static DEFINE_RAW_SPINLOCK(tasks_lock);
static struct task_name *names; /* numbered from 1 on */
static u16 *index; /* open addressing by pid, 2 to 4 times as long as names */
static unsigned int index_bits, names_max, names_count;
static u64 names_lost;
bool task_names = true;

int tasks_init(unsigned int max)
{
	names_max = max;
	index_bits = ilog2(max) + 2;
	names = vzalloc((max + 1) * sizeof(*names));
	index = vzalloc(sizeof(*index) << index_bits);
	if (names && index)
		return 0;
	tasks_exit();
	return -ENOMEM;
}

void tasks_exit(void)
{
	vfree(names);
	vfree(index);
}

static u16 name_add(u16 *entry)
{
	struct task_name *name;

	if (names_count == names_max) {
		names_lost++;
		return 0;
	}
	name = &names[++names_count];
	name->pid = current->pid;
	name->kernel = current->flags & PF_KTHREAD;
	memcpy(name->comm, current->comm, TASK_COMM_LEN);
	*entry = names_count;
	return names_count;
}

static u16 name_find(void)
{
	u32 mask = (1 << index_bits) - 1;
	u32 at = hash_32(current->pid, index_bits);
	const struct task_name *name;

	for (; index[at]; at = (at + 1) & mask) {
		name = &names[index[at]];
		if (name->pid == current->pid &&
		    task_name_is(name->comm, current->comm))
			return index[at];
	}
	return name_add(&index[at]);
}

u16 task_number_found(struct last_task *last)
{
	raw_spin_lock(&tasks_lock);
	last->number = name_find();
	raw_spin_unlock(&tasks_lock);
	last->pid = current->pid;
	memcpy(last->comm, current->comm, TASK_COMM_LEN);
	return last->number;
}

const char *trace_task_name(u16 task)
{
	return task && task <= names_count ? names[task].comm : "?";
}
EXPORT_SYMBOL_GPL(trace_task_name);

void tasks_names(struct seq_file *file)
{
	unsigned int i;

	for (i = 1; i <= READ_ONCE(names_count); i++)
		seq_printf(file, "task %u %u %s %s\n", i, names[i].pid,
			   names[i].kernel ? "kernel" : "user", names[i].comm);
}

void tasks_status(struct seq_file *file)
{
	seq_printf(file, "task_names %s\n", task_names ? "on" : "off");
	seq_printf(file, "task_names_lost %llu\n", names_lost);
}
