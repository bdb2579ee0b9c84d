// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * nopidle for a virtual board with a 32-bit ARM: see nopidle.c, which says why
 * and does the same on an x86.
 *
 * Debian's armmp kernel has no cpuidle to be a driver of. What its processor
 * does while it idles is what arm_pm_idle points to, which is not exported. So
 * its address is read from the first instructions of arch_cpu_idle(), which
 * load it; a kernel that has others there is refused.
 *
 * Boot the kernel with nohlt, so that it does not halt before this module is
 * loaded either. Loading it ends the polling.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/irqflags.h>
#include <linux/kernel_stat.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <asm/opcodes.h>

/* QEMU translates at most 512 instructions at a time: the no-ops and the loop
 * around them fit into one such block, or two where a page ends. */
#define NOPS  "480"

#define WORDS 8 /* of arch_cpu_idle() that are looked at */

/*
 * As arm_pm_idle: called with interrupts off, returns with interrupts on.
 * Returns to the scheduler's idle loop after each interrupt: the handler may
 * have set an earlier timer.
 */
static void notrace nopidle_enter(void)
{
	unsigned long before = __this_cpu_read(kstat.irqs_sum);

	raw_local_irq_enable();
	while (!need_resched() && __this_cpu_read(kstat.irqs_sum) == before)
		asm volatile(".rept " NOPS "\n\tnop\n\t.endr" ::: "memory");
}

/* The kernel's switch for nohlt, and what it idles by. */
static void (*poll_idle)(bool enable);
static void (**pm_idle)(void);

/* Where a function begins that is not exported: registering a kprobe on it
 * tells. NULL: there is none. */
static void *address_of(const char *function)
{
	struct kprobe probe = {.symbol_name = function};

	if (register_kprobe(&probe))
		return NULL;
	unregister_kprobe(&probe);
	return probe.addr;
}

/* Instructions of the A32 set that together load from a fixed address: movw and
 * movt make a register's halves, ldr reads at it plus an offset. */
#define OPERATION(code) ((code) & 0xfff00000)
#define MOVW		0xe3000000
#define MOVT		0xe3400000
#define LDR		0xe5900000
#define HALF(code)	(((code) >> 4 & 0xf000) | ((code) & 0xfff))
#define OFFSET(code)	((code) & 0xfff)
#define TARGET(code)	((code) >> 12 & 0xf)
#define BASE(code)	((code) >> 16 & 0xf)

/* The fixed address that a function loads from first; NULL: it does not begin
 * by such a load. */
static void *loads_from(const u32 *code)
{
	unsigned int i;

	for (i = 0; code && i + 2 < WORDS; i++) {
		u32 low = __mem_to_opcode_arm(code[i]);
		u32 high = __mem_to_opcode_arm(code[i + 1]);
		u32 load = __mem_to_opcode_arm(code[i + 2]);

		if (OPERATION(low) == MOVW && OPERATION(high) == MOVT &&
		    OPERATION(load) == LDR && TARGET(high) == TARGET(low) &&
		    BASE(load) == TARGET(low))
			return (void *)((HALF(high) << 16 | HALF(low)) +
					OFFSET(load));
	}
	return NULL;
}

static int __init nopidle_init(void)
{
	poll_idle = address_of("cpu_idle_poll_ctrl");
	pm_idle = loads_from(address_of("arch_cpu_idle"));
	if (!poll_idle || !pm_idle || *pm_idle) {
		pr_err("this kernel idles in a way that is not known here\n");
		return -ENODEV;
	}
	*pm_idle = nopidle_enter;
	poll_idle(false);
	return 0;
}

static void __exit nopidle_exit(void)
{
	poll_idle(true);
	*pm_idle = NULL;
	kick_all_cpus_sync();
}

module_init(nopidle_init);
module_exit(nopidle_exit);
MODULE_DESCRIPTION("Idle loop of no-ops for a clock that counts instructions");
MODULE_LICENSE("GPL");
