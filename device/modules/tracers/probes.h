/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A probe on a kernel function: its entry and, if asked for, its return.
 *
 * There are two ways. A kretprobe works on any function of any kernel that has
 * kprobes, and costs some 400 instructions. A detour (detour.c) costs some 90:
 * the function's ftrace entry leads to a C function of ours that calls the real
 * one. That needs ftrace, x86-64, and a function with at most eight words of
 * arguments and a result of one word. So only probes of functions that we know
 * set may_detour.
 */
#ifndef TRACERS_PROBES_H
#define TRACERS_PROBES_H

#include <linux/kprobes.h>

#define PROBE_ARGS	 8   /* words of arguments that a probe sees */
#define PROBE_WANTS_ARGS 3   /* of these, the ones for wants() */
#define PROBE_DATA_BYTES 128 /* of a call's own data, at most */

struct detour;

struct probe {
	/* The function: by address if that is not NULL, else by name. The name
	 * is also printed. */
	const char *name;
	void *address;

	/* Whether a call is of interest; asked once, before enter(). A call
	 * that is not takes no detour. Only the first PROBE_WANTS_ARGS words of
	 * args are valid. NULL: all calls are of interest. */
	bool (*wants)(struct probe *probe, const unsigned long *args);
	/* Called at the entry. data belongs to the call until its return.
	 * False: the return is of no interest. */
	bool (*enter)(struct probe *probe, const unsigned long *args,
		      void *data);
	/* Called at the return. NULL: only entries are of interest. */
	void (*leave)(struct probe *probe, void *data, unsigned long result);
	unsigned int data_bytes;
	bool may_detour;

	bool armed;
	bool detoured;	       /* armed as a detour */
	struct detour *detour; /* its detour, in use or not */
	struct kretprobe ret;
	u64 missed_before; /* missed while it was armed before */
	u64 forgotten;	   /* of all missed, those before the last reset */
};

/* Calls under way of one function that a kretprobe can follow to their return.
 * Further ones are missed, and counted. */
#define PROBE_CALLS_MAX 64

/* 0, or an errno that says why the function cannot be probed; -ENOENT: there is
 * no such function. */
int probe_arm(struct probe *probe);

/* Disarm those that are armed: no call that begins from now on is seen. If a
 * call on a detour was seen to begin, its return is still seen. */
void probes_disarm(struct probe *const *probes, unsigned int count);

/* Wait until no handler of these disarmed probes will run. The calling task
 * must not be inside one of the probed functions, as one that writes to /proc
 * may be. */
void probes_release(struct probe *const *probes, unsigned int count);

/* Events that a probe missed, as the kernel counts them, since the last
 * probe_forget_missed(). */
u64 probe_missed(const struct probe *probe);
void probe_forget_missed(struct probe *probe);

/* The way in use: "detour", "kretprobe" or "kprobe". */
const char *probe_kind(const struct probe *probe);

/* Whether there is a function of this name that can be probed. */
bool probe_possible(const char *name);

/* Put a detour on the function at an address. 0; -EOPNOTSUPP if the kernel or
 * the function does not allow it; -ENOSPC if all detours are in use; or an
 * errno of ftrace. */
int detour_arm(struct probe *probe, unsigned long address);
/* Let no new call take it. */
void detour_close(struct probe *probe);
/* Wait until all calls that took one are counted as inside. */
void detours_settle(void);
/* Wait until all calls that took these have ended, and free them. */
void detours_release(struct probe *const *probes, unsigned int count);

#endif
