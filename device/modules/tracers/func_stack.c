// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which traced functions a task is in: a small hash table by task. Only the
 * task itself changes its entry; an interrupt leaves the entry as it found it.
 */
#include <linux/hash.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>

#include "func.h"

#define STACK_BITS 8
#define STACKS	   (1 << STACK_BITS)
#define LOOK	   16 /* entries that a task may be in */

static struct func_stack stacks[STACKS];

static struct func_stack *stack_find(void)
{
	u32 at = hash_ptr(current, STACK_BITS);
	unsigned int i;

	for (i = 0; i < LOOK; i++)
		if (READ_ONCE(stacks[(at + i) % STACKS].task) == current)
			return &stacks[(at + i) % STACKS];
	return NULL;
}

/* A task that died inside a function never freed its entry. */
static bool is_dead(const struct func_stack *stack,
		    const struct task_struct *task)
{
	const struct task_struct *now;

	rcu_read_lock();
	now = pid_task(find_pid_ns(stack->pid, &init_pid_ns), PIDTYPE_PID);
	rcu_read_unlock();
	return now != task;
}

/* Take the first entry that is free, or, with of_the_dead, of a dead task. */
static struct func_stack *stack_take(bool of_the_dead)
{
	u32 at = hash_ptr(current, STACK_BITS);
	struct func_stack *stack;
	struct task_struct *task;
	unsigned int i;

	for (i = 0; i < LOOK; i++) {
		stack = &stacks[(at + i) % STACKS];
		task = READ_ONCE(stack->task);
		if (task && !(of_the_dead && is_dead(stack, task)))
			continue;
		if (cmpxchg(&stack->task, task, current) != task)
			continue;
		stack->pid = current->pid;
		stack->top = NULL;
		return stack;
	}
	return NULL;
}

static struct func_stack *stack_new(void)
{
	struct func_stack *stack = stack_take(false);

	return stack ? stack : stack_take(true);
}

bool func_push(struct func_frame *frame)
{
	struct func_stack *stack = stack_find();

	if (!stack)
		stack = stack_new();
	if (!stack)
		return false;
	if (stack->pid != current->pid) {
		/* A task died inside a function, and this one has its
		 * address. */
		stack->pid = current->pid;
		stack->top = NULL;
	}
	frame->stack = stack;
	frame->outer = stack->top;
	frame->inner_ns = 0;
	frame->depth = frame->outer ? frame->outer->depth + 1 : 0;
	stack->top = frame;
	return true;
}

void func_pop(struct func_frame *frame, u64 ns)
{
	struct func_stack *stack = frame->stack;

	stack->top = frame->outer;
	if (frame->outer)
		frame->outer->inner_ns += ns;
	else
		smp_store_release(&stack->task, NULL);
}

void func_stacks_clear(void)
{
	memset(stacks, 0, sizeof(stacks));
}
