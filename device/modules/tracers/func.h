/* SPDX-License-Identifier: GPL-2.0-or-later */
/* FuncMon: how often and how long a kernel function runs, and inside which
 * other. */
#ifndef TRACERS_FUNC_H
#define TRACERS_FUNC_H

#include "probes.h"
#include "tracers.h"

struct task_struct;

#define FUNCS_MAX     64
#define FUNC_NAME_MAX 96
/* The last bucket counts calls of 2^46 ns, 20 hours, or more. */
#define FUNC_HISTOGRAM 48

/* Sums over a function's calls, kept with its log on or off. histogram[n]
 * counts calls of less than 2^n ns, and not less than half of that. */
struct func_sums {
	u64 calls;
	u64 total_ns;
	u64 self_ns; /* without that of traced functions called inside */
	u64 min_ns;
	u64 max_ns;
	u64 histogram[FUNC_HISTOGRAM];
};

struct func {
	char name[FUNC_NAME_MAX];
	struct probe probe;
	atomic64_t entered;
	u64 entered_at_reset;
	raw_spinlock_t lock; /* of the sums */
	struct func_sums sums;
};

/* The traced functions that a task is in, from the innermost outwards. */
struct func_stack {
	struct task_struct *task; /* NULL: free */
	pid_t pid;
	struct func_frame *top;
};

/* A call under way. */
struct func_frame {
	u64 seq;
	u64 start_ns;
	struct func_stack *stack;
	struct func_frame *outer;
	u64 inner_ns;
	u8 depth;
};

extern struct monitor funcmon;
extern struct func funcs[FUNCS_MAX];
extern unsigned int funcs_count;

/* Push a call onto its task's stack. False: no room for another task. */
bool func_push(struct func_frame *frame);
/* The call ended, after ns: pop it. */
void func_pop(struct func_frame *frame, u64 ns);
/* Forget all frames. No probe may run. */
void func_stacks_clear(void);

int func_sums_init(void);
void func_sums_exit(void);
void func_sums_add(struct func *func, u64 ns, u64 inner_ns);
void func_sums_reset(struct func *func);

#endif
