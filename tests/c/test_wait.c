// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How simnand waits under warp (device/modules/simnand/wait.c), in user space,
 * on a kernel of a few lines: an interrupt comes at each point in turn at which
 * interrupts are on, and makes another thread ready. That thread must not wait
 * while time is added. Prints what failed; exits with 1 if anything did.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef uint64_t u64;
typedef u64 ktime_t;

#define ARRAY_SIZE(a)		     (sizeof(a) / sizeof((a)[0]))
#define TASK_UNINTERRUPTIBLE	     2
#define HRTIMER_MODE_ABS	     0
#define pr_err(...)		     printf(__VA_ARGS__)
#define oops_in_progress	     false
#define in_atomic()		     false
#define irqs_disabled()		     (!interrupts_on)
#define cpu_relax()		     (now += 1000)
#define ns_to_ktime(ns)		     (ns)
#define set_current_state(state)     ((void)(state))
#define schedule_hrtimeout(at, mode) (run_other(*(at)), (void)(mode))
#define local_irq_save(flags)	     (flags = interrupts_on, interrupts_on = 0)
#define local_irq_restore(flags)     (interrupts_on = (flags), pass())

#define OP_NS			     222000
#define TIMER_NS		     100000 /* a timer that wakes nobody is due then */
#define NEVER_NS		     UINT64_MAX

static u64 now, woken_ns, waited_ns, timer_ns;
static unsigned int points, strike;
static unsigned long interrupts_on;
static bool other_ready;

/* A point at which an interrupt may come. */
static void pass(void)
{
	if (interrupts_on && points++ == strike) {
		other_ready = true;
		woken_ns = now;
	}
}

/* The other thread has the processor until the sleeper's time comes. */
static void run_other(u64 until_ns)
{
	pass();
	if (other_ready)
		waited_ns = now - woken_ns;
	other_ready = false;
	now = until_ns;
}

static bool single_task_running(void)
{
	pass();
	return !other_ready;
}

static u64 ktime_get_ns(void)
{
	pass();
	return now;
}

static int match_string(const char *const *strings, size_t n, const char *word)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!strcmp(strings[i], word))
			return i;
	return -EINVAL;
}

#include "wait.c"

bool warp_works(void)
{
	pass();
	return true;
}

u64 warp_towards(u64 now_ns, u64 deadline_ns, bool timers_can_fire)
{
	pass();
	if (!timers_can_fire || timer_ns >= deadline_ns)
		now = deadline_ns;
	else if (timer_ns > now_ns)
		now = timer_ns;
	pass();
	return now;
}

u64 warp_fire_timers(void)
{
	pass();
	timer_ns = NEVER_NS;
	return now;
}

int warp_start(u64 slice_ns)
{
	return slice_ns ? 0 : -EINVAL;
}

void warp_stop(void)
{
}

/* Waits for one operation; the interrupt comes at point @at. Points passed. */
static unsigned int wait_once(unsigned int at)
{
	now = waited_ns = woken_ns = 0;
	timer_ns = TIMER_NS;
	points = 0;
	strike = at;
	interrupts_on = 1;
	other_ready = false;
	now = wait_until_ns(OP_NS);
	if (other_ready)
		waited_ns = now - woken_ns;
	return points;
}

int main(void)
{
	struct wait_params params = {.mode = "warp", .warp_slice_ns = 1};
	unsigned int at, count, failures = 0;

	if (wait_start(&params))
		return 1;
	count = wait_once(UINT32_MAX);
	for (at = 0; at < count; at++) {
		wait_once(at);
		if (now == OP_NS && !waited_ns)
			continue;
		printf("interrupt at point %u of %u: ended at %llu, a ready "
		       "thread waited %llu ns\n",
		       at, count, (unsigned long long)now,
		       (unsigned long long)waited_ns);
		failures++;
	}
	wait_stop();
	if (count < 4)
		printf("only %u points at which interrupts are on\n", count);
	if (failures || count < 4)
		return 1;
	printf("all well\n");
	return 0;
}
