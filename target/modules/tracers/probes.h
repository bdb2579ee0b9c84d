/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A probe on a kernel function: its entry and, if asked for, its return.
 *
 * Two ways to the same end. Kretprobes work on any function of any kernel that
 * has kprobes, and cost some 400 instructions. A detour (detour.c) costs some
 * 90: the function's entry hook, which function tracing left there, leads to a
 * C function of ours that calls the real one. That asks for function tracing,
 * for x86-64, and for a function of whose arguments none lies beyond the eighth
 * word and whose result is one word; so only probes whose function is known say
 * that they may.
 */
#ifndef TRACERS_PROBES_H
#define TRACERS_PROBES_H

#include <linux/kprobes.h>

#define PROBE_ARGS	 8   /* words of arguments that a probe sees */
#define PROBE_WANTS_ARGS 3   /* of these, that wants is given */
#define PROBE_DATA_BYTES 128 /* of a call, at most */

struct detour;

struct probe {
	/* The function, by name; or by address, and name is what to call it. */
	const char *name;
	void *address;

	/* Whether a call is of interest at all, asked once, before enter: one
	 * that is not takes no detour, however long it lasts. Of the arguments
	 * it is given the first PROBE_WANTS_ARGS alone. NULL: all are. */
	bool (*wants)(struct probe *probe, const unsigned long *args);
	/* At the entry. data is the call's own until its return. False: its
	 * return is of no interest. */
	bool (*enter)(struct probe *probe, const unsigned long *args,
		      void *data);
	/* At the return. NULL: only entries are of interest. */
	void (*leave)(struct probe *probe, void *data, unsigned long result);
	unsigned int data_bytes;
	bool may_detour;

	bool armed;
	bool detoured;	       /* armed as a detour */
	struct detour *detour; /* that it has, whether in use or not */
	struct kretprobe ret;
	u64 missed_before; /* of earlier times that it was armed */
	u64 forgotten;	   /* of all these, what a reset has forgotten */
};

/* Calls of one function at a time that a kretprobe follows to their return;
 * the return of a further one is missed, and counted. */
#define PROBE_CALLS_MAX 64

/* 0, or why the function cannot be probed: -ENOENT, there is none. */
int probe_arm(struct probe *probe);

/* All that are armed: no call that begins from now on is seen. One that was
 * seen to begin on a detour is still seen to end. */
void probes_disarm(struct probe *const *probes, unsigned int count);

/* They are disarmed: waits until none of their handlers will run. Not for a
 * task that is inside one of the functions itself, as one that writes to /proc
 * may be. */
void probes_release(struct probe *const *probes, unsigned int count);

/* Events that the kernel says a probe did not see, since the last forget. */
u64 probe_missed(const struct probe *probe);
void probe_forget_missed(struct probe *probe);

/* How it is done: "detour", "kretprobe" or "kprobe". */
const char *probe_kind(const struct probe *probe);

/* Whether there is a function of this name that can be probed. */
bool probe_possible(const char *name);

/* Takes a detour to the function at an address, if this kernel and the number
 * of detours allow: 0, -EOPNOTSUPP, -ENOSPC or what function tracing says. */
int detour_arm(struct probe *probe, unsigned long address);
/* No new call takes it from now on. */
void detour_close(struct probe *probe);
/* Those that took it before have begun. */
void detours_settle(void);
/* Those that took it before have ended. */
void detours_release(struct probe *const *probes, unsigned int count);

#endif
