// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * nopidle: an idle loop of no-ops, for a clock that counts instructions.
 *
 * On a virtual board whose clock counts instructions (QEMU -icount), the
 * emulator moves the clock to the next timer when an idle processor halts. QEMU
 * 7.2 does that in another thread. That thread may run before the last
 * instructions ahead of the halt are accounted, and then moves the clock too
 * far by these instructions: a few hundred ns, about once in ten thousand
 * halts, depending on the host's scheduler.
 *
 * So this processor never halts. It runs no-ops, which translate to no code at
 * all but are counted: idle time passes exactly, and hundreds of times faster
 * than real time.
 *
 * Boot the kernel with idle=poll, so that it does not halt before this module
 * is loaded either. Loading it ends the polling. Polling is exact too, but
 * sends the emulator through its main loop every few instructions.
 *
 * Compared with a halt, there is no wake-up latency; time still counts as idle.
 * Not for real hardware nor for KVM, where it would keep a core busy.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpuidle.h>
#include <linux/irqflags.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <asm/processor.h>

/*
 * QEMU translates at most 512 instructions at a time: the no-ops and the two of
 * the loop around them fit into one such block.
 */
#define NOPS "500"

/*
 * An interrupt pushes what the processor was at onto the stack that is in use:
 * five words from the next multiple of 16 bytes down. So the third word below
 * the stack's end is its RSP or its RFLAGS, neither of which is ever 0. The
 * loop waits for that one word: of all that a turn costs the emulator, looking
 * into memory is the most. Nothing else writes there, for the kernel has no red
 * zone and the loop calls nothing.
 *
 * After each interrupt, return to the scheduler's idle loop: the handler may
 * have set an earlier timer. Without one nobody asks this processor, the only
 * one, to schedule.
 */
static int notrace nopidle_enter(struct cpuidle_device *device,
				 struct cpuidle_driver *driver, int index)
{
	if (!need_resched())
		asm volatile("movq $0, -24(%%rsp)\n\t"
			     "sti\n"
			     "1:\n\t"
			     ".fill " NOPS ", 1, 0x90\n\t"
			     "cmpq $0, -24(%%rsp)\n\t"
			     "je 1b\n\t"
			     "cli"
			     :
			     :
			     : "cc", "memory");
	return index;
}

static struct cpuidle_driver nopidle = {
	.name = "nopidle",
	.owner = THIS_MODULE,
	.states[0] =
		{
			.enter = nopidle_enter,
			.name = "NOP",
			.desc = "no-ops, counted",
		},
	.state_count = 1,
};

/*
 * The kernel's switch for idle=poll. It is not exported: registering a kprobe
 * on it gives its address.
 */
static void (*poll_idle)(bool enable);

static int find_poll_switch(void)
{
	struct kprobe probe = {.symbol_name = "cpu_idle_poll_ctrl"};
	int error = register_kprobe(&probe);

	if (error)
		return error;
	poll_idle = (void *)probe.addr;
	unregister_kprobe(&probe);
	return 0;
}

static bool booted_polling(void)
{
	return boot_option_idle_override == IDLE_POLL;
}

static int __init nopidle_init(void)
{
	int error = booted_polling() ? find_poll_switch() : 0;

	if (error) {
		pr_err("cannot end this kernel's idle=poll (%d)\n", error);
		return error;
	}
	error = cpuidle_register(&nopidle, NULL);
	if (error)
		pr_err("cannot become this kernel's idle driver (%d)\n", error);
	else if (poll_idle)
		poll_idle(false);
	return error;
}

static void __exit nopidle_exit(void)
{
	if (poll_idle)
		poll_idle(true);
	cpuidle_unregister(&nopidle);
}

module_init(nopidle_init);
module_exit(nopidle_exit);
MODULE_DESCRIPTION("Idle loop of no-ops for a clock that counts instructions");
MODULE_LICENSE("GPL");
