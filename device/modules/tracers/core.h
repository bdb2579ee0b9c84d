/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the parts of the core; monitors do not need it. */
#ifndef TRACERS_CORE_H
#define TRACERS_CORE_H

#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/version.h>
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

#include "tracers.h"

/* A CPU's records. Only that CPU writes, with interrupts off. */
struct ring {
	struct trace_record *records;
	u64 begun;     /* records whose writing began */
	u64 done;      /* of these, the complete ones */
	u64 taken;     /* the binary file has been read up to here */
	u64 not_taken; /* of those before taken, the ones overwritten unread */
	u64 refused;   /* records that found the ring full */
	u64 in_nmi;    /* events in an NMI, which cannot be recorded */
};

/*
 * Counts of a ring that its writer and its reader share. A 32-bit machine has
 * no load or store of 64 bits that is one; its atomic64_t is one by other
 * means.
 */
#ifdef CONFIG_64BIT
#define count_get(at)		 READ_ONCE(*(at))
#define count_set(at, value)	 WRITE_ONCE(*(at), value)
#define count_acquire(at)	 smp_load_acquire(at)
#define count_release(at, value) smp_store_release(at, value)
#else
static inline u64 count_get(const u64 *at)
{
	return atomic64_read((const atomic64_t *)at);
}

static inline void count_set(u64 *at, u64 value)
{
	atomic64_set((atomic64_t *)at, value);
}

static inline u64 count_acquire(const u64 *at)
{
	u64 value = count_get(at);

	smp_mb();
	return value;
}

static inline void count_release(u64 *at, u64 value)
{
	smp_mb();
	count_set(at, value);
}
#endif

int rings_init(unsigned long records);
void rings_exit(void);
void rings_reset(void);
u64 rings_size(void); /* records in one ring */
extern bool ring_overwrites;

struct ring *ring_of(unsigned int cpu);
/* Copy complete records from number *from on, at most max; move *from past them
 * and past those that were overwritten. */
unsigned int ring_copy(const struct ring *ring, u64 *from,
		       struct trace_record *to, unsigned int max);
/* The oldest record that can still be copied. */
u64 ring_oldest(const struct ring *ring);

struct ring_sums {
	u64 written;
	u64 unread;
	u64 lost;
	u64 missed;
};

void rings_sum(struct ring_sums *sums);

int tasks_init(unsigned int max);
void tasks_exit(void);

/* The task name that a CPU looked up last. */
struct last_task {
	u32 pid;
	u16 number; /* 0: none yet */
	char comm[TASK_COMM_LEN];
};

DECLARE_PER_CPU(struct last_task, last_tasks);
u16 task_number_found(struct last_task *last);

/* Compares two words: this is done for every record. */
static inline bool task_name_is(const char *a, const char *b)
{
	BUILD_BUG_ON(TASK_COMM_LEN != 2 * sizeof(u64));
	return !((get_unaligned((const u64 *)a) ^
		  get_unaligned((const u64 *)b)) |
		 (get_unaligned((const u64 *)a + 1) ^
		  get_unaligned((const u64 *)b + 1)));
}

/* The number of the running task's name; interrupts are off. */
static inline u16 task_number(void)
{
	struct last_task *last = this_cpu_ptr(&last_tasks);

	if (likely(last->number && last->pid == current->pid &&
		   task_name_is(last->comm, current->comm)))
		return last->number;
	return task_number_found(last);
}

void tasks_names(struct seq_file *file);
void tasks_status(struct seq_file *file);
extern bool task_names;

extern struct list_head tracers_monitors;
void tracers_reset_all(void);
u64 tracers_missed(void);
int tracers_set_task_filter(char *text);
int tracers_mark(const char *text);
void tracers_status(struct seq_file *file);

/* Execute a line with a command. monitor NULL: of the file control. */
int command_run(struct monitor *monitor, char *line);

int proc_init(void);
void proc_exit(void);
int proc_add(struct monitor *monitor);
void proc_remove_monitor(struct monitor *monitor);

struct file;
struct inode;
int log_open(struct inode *inode, struct file *file);
int log_release(struct inode *inode, struct file *file);
int stream_open(struct inode *inode, struct file *file);
ssize_t stream_read(struct file *file, char __user *buf, size_t bytes,
		    loff_t *pos);

#endif
