/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A probe on a kernel function: its entry and, if asked for, its return. They
 * rest on kprobes and kretprobes, which every architecture has; on a kernel
 * with function tracing these sit on its entry hook, without a breakpoint.
 */
#ifndef TRACERS_PROBES_H
#define TRACERS_PROBES_H

#include <linux/kprobes.h>

struct seq_file;

struct probe {
	/* The function, by name; or by address, and name is what to call it. */
	const char *name;
	void *address;

	/* At the entry, preemption off. data is the call's own until its
	 * return, data_bytes long. False: its return is of no interest. */
	bool (*enter)(struct probe *probe, const struct pt_regs *regs,
		      void *data);
	/* At the return. NULL: only entries are of interest. */
	void (*leave)(struct probe *probe, void *data, unsigned long result);
	unsigned int data_bytes;

	bool armed;
	struct kretprobe ret;
	u64 missed_before; /* of earlier times that it was armed */
	u64 forgotten;	   /* of all these, what a reset has forgotten */
};

/* Calls of one function at a time that can be followed to their return; the
 * return of a further one is missed, and counted. */
#define PROBE_CALLS_MAX 64

/* 0, or why the function cannot be probed: -ENOENT, there is none. */
int probe_arm(struct probe *probe);

/* All that are armed; none of their handlers runs any more when it returns. */
void probes_disarm(struct probe *const *probes, unsigned int count);

/* Events that the kernel says a probe did not see, since the last forget. */
u64 probe_missed(const struct probe *probe);
void probe_forget_missed(struct probe *probe);

/* Whether there is a function of this name that can be probed. */
bool probe_possible(const char *name);

#endif
