// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Detours: see probes.h. As in live patching, the ftrace hook at a function's
 * entry sets the instruction pointer to another function, one of the numbered
 * ones below, as if the caller had called that. It takes the time, calls the
 * real function just behind its hook, and takes the time again. Other hooks of
 * the function have run by then, once. The return is an ordinary one and needs
 * no entry in a table, so none is missed.
 */
#include <linux/ftrace.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/version.h>
#ifdef CONFIG_X86_KERNEL_IBT
#include <asm/ibt.h>
#endif

#include "compat.h"
#include "probes.h"

/* CFI checks the type of function that a pointer leads to: it would reject
 * ours. */
#if defined(CONFIG_DYNAMIC_FTRACE) && defined(CONFIG_HAVE_LIVEPATCH) && \
	defined(CONFIG_X86_64) && !defined(CONFIG_CFI_CLANG)

#define DETOURS 40

struct detour {
	struct ftrace_ops ops;
	struct probe *probe; /* NULL: free */
	unsigned long function;
	unsigned long behind; /* address in the function, behind its hook */
	unsigned long entry;  /* address of the numbered function */
	atomic_t inside;
};

typedef unsigned long (*any_function)(unsigned long, unsigned long,
				      unsigned long, unsigned long,
				      unsigned long, unsigned long,
				      unsigned long, unsigned long);

static struct detour detours[DETOURS];
static DEFINE_MUTEX(detours_lock);

/* Inlined in each numbered function: this saves a call for every event. */
static __always_inline unsigned long take(struct detour *detour,
					  const unsigned long *args)
{
	struct probe *probe = detour->probe;
	u64 data[PROBE_DATA_BYTES / sizeof(u64)];
	unsigned long result;
	bool wanted;

	atomic_inc(&detour->inside);
	wanted = probe->enter(probe, args, data);
	result = ((any_function)detour->behind)(args[0], args[1], args[2],
						args[3], args[4], args[5],
						args[6], args[7]);
	if (wanted)
		probe->leave(probe, data, result);
	atomic_dec(&detour->inside);
	return result;
}

/* The numbered functions. If the real one takes fewer words, the others are
 * read from the caller's frame and passed on, which does no harm. */
#define NUMBERED(n)                                                       \
	static unsigned long detour_##n(unsigned long a, unsigned long b, \
					unsigned long c, unsigned long d, \
					unsigned long e, unsigned long f, \
					unsigned long g, unsigned long h) \
	{                                                                 \
		const unsigned long args[] = {a, b, c, d, e, f, g, h};    \
                                                                          \
		return take(&detours[n], args);                           \
	}
/* clang-format off */
#define TEN(X, n) X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) \
		  X(n##5) X(n##6) X(n##7) X(n##8) X(n##9)
#define ALL(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) \
	       TEN(X, 1) TEN(X, 2) TEN(X, 3)
ALL(NUMBERED)
#define ENTRY(n) [n] = detour_##n,
static const any_function numbered[DETOURS] = { ALL(ENTRY) };
/* clang-format on */

#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 11, 0)
typedef struct pt_regs hook_regs;
#define HOOK_FLAGS (FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_RECURSION_SAFE)
#define hook_arg   regs_get_kernel_argument
static void hook_go(struct pt_regs *regs, unsigned long ip)
{
	instruction_pointer_set(regs, ip);
}
#elif LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
typedef struct ftrace_regs hook_regs;
#define HOOK_FLAGS	  0
#define hook_arg(regs, n) regs_get_kernel_argument(&(regs)->regs, n)
#define hook_go		  ftrace_instruction_pointer_set
#else
typedef struct ftrace_regs hook_regs;
#define HOOK_FLAGS 0
#define hook_arg   ftrace_regs_get_argument
#define hook_go	   ftrace_regs_set_instruction_pointer
#endif

/* The arguments that a hook sees: those in registers. */
#define HOOK_ARGS(regs)                                                  \
	{                                                                \
		hook_arg(regs, 0), hook_arg(regs, 1), hook_arg(regs, 2), \
		hook_arg(regs, 3), hook_arg(regs, 4), hook_arg(regs, 5), \
	}

/* The hook for entry and return. */
static void go_astray(unsigned long ip, unsigned long parent_ip,
		      struct ftrace_ops *ops, hook_regs *regs)
{
	struct detour *detour = container_of(ops, struct detour, ops);
	struct probe *probe = detour->probe;

	if (probe->wants) {
		const unsigned long args[PROBE_WANTS_ARGS] = {
			hook_arg(regs, 0),
			hook_arg(regs, 1),
			hook_arg(regs, 2),
		};

		if (!probe->wants(probe, args))
			return;
	}
	hook_go(regs, detour->entry);
}

/* The hook for entry alone: it needs no detour. */
static void look(unsigned long ip, unsigned long parent_ip,
		 struct ftrace_ops *ops, hook_regs *regs)
{
	struct probe *probe = container_of(ops, struct detour, ops)->probe;
	const unsigned long args[PROBE_ARGS] = HOOK_ARGS(regs);

	if (!probe->wants || probe->wants(probe, args))
		probe->enter(probe, args, NULL);
}

/* Under indirect branch tracking (IBT), a function cannot be called at the
 * address behind its hook: there is no ENDBR instruction. */
static bool supported(void)
{
#ifdef CONFIG_X86_KERNEL_IBT
	if (cpu_feature_enabled(X86_FEATURE_IBT))
		return false;
#endif
	return true;
}

static struct detour *find_free(void)
{
	unsigned int i;

	for (i = 0; i < DETOURS; i++)
		if (!detours[i].probe)
			return &detours[i];
	return NULL;
}

/* The address behind the hook. The hook is the function's first instruction, or
 * the one after ENDBR: a call, or a nop in its place. 0: there is no hook. */
static unsigned long behind_hook(unsigned long function)
{
	static const u8 place[] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
	static const u8 call = 0xe8;

#ifdef CONFIG_X86_KERNEL_IBT
	if (is_endbr(*(const u32 *)function))
		function += 4;
#endif
	if (*(const u8 *)function != call &&
	    memcmp((const void *)function, place, sizeof(place)))
		return 0;
	return function + sizeof(place);
}

static int hook_on(struct detour *detour)
{
	int err;

	detour->behind = behind_hook(detour->function);
	if (!detour->behind)
		return -EOPNOTSUPP;
	err = ftrace_set_filter_ip(&detour->ops, detour->function, 0, 0);
	if (!err)
		err = register_ftrace_function(&detour->ops);
	if (err)
		ftrace_set_filter_ip(&detour->ops, detour->function, 1, 0);
	return err;
}

/* A probe keeps its detour once it has one: earlier calls may still be on
 * it. */
static struct detour *detour_of(struct probe *probe)
{
	struct detour *detour = probe->detour;

	if (detour)
		return detour;
	detour = find_free();
	if (!detour)
		return NULL;
	*detour = (struct detour){
		.ops.func = probe->leave ? go_astray : look,
		.ops.flags = HOOK_FLAGS |
			     (probe->leave ? FTRACE_OPS_FL_IPMODIFY : 0),
		.entry = (unsigned long)numbered[detour - detours],
	};
	return detour;
}

int detour_arm(struct probe *probe, unsigned long address)
{
	struct detour *detour;
	int err = -ENOSPC;

	if (probe->data_bytes > PROBE_DATA_BYTES || !supported())
		return -EOPNOTSUPP;
	mutex_lock(&detours_lock);
	detour = detour_of(probe);
	if (detour) {
		detour->function = address;
		WRITE_ONCE(detour->probe, probe);
		err = hook_on(detour);
		if (!err)
			probe->detour = detour;
		else if (!probe->detour)
			detour->probe = NULL;
	}
	mutex_unlock(&detours_lock);
	return err;
}

void detour_close(struct probe *probe)
{
	unregister_ftrace_function(&probe->detour->ops);
	ftrace_set_filter_ip(&probe->detour->ops, probe->detour->function, 1,
			     0);
}

/* Wait until all tasks that passed a hook have counted themselves as inside.
 * This works because a task does not sleep between the two, only inside the
 * function. */
void detours_settle(void)
{
	synchronize_rcu_tasks();
}

void detours_release(struct probe *const *probes, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		while (probes[i]->detour &&
		       atomic_read(&probes[i]->detour->inside))
			schedule_timeout_uninterruptible(1);
	synchronize_rcu_tasks(); /* the last instructions on the way out */
	mutex_lock(&detours_lock);
	for (i = 0; i < count; i++) {
		if (probes[i]->detour)
			probes[i]->detour->probe = NULL;
		probes[i]->detour = NULL;
	}
	mutex_unlock(&detours_lock);
}

#else

int detour_arm(struct probe *probe, unsigned long address)
{
	return -EOPNOTSUPP;
}

void detour_close(struct probe *probe)
{
}

void detours_settle(void)
{
}

void detours_release(struct probe *const *probes, unsigned int count)
{
}

#endif
