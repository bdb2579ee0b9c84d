// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * doorbell: stops the virtual board so that its saved state is always the same.
 *
 * A write to the pvpanic port pauses the board within that instruction, but not
 * its clock. Until QEMU's main loop notices, the processor counts as idle, and
 * the main loop may or may not move the clock to the next timer, depending on
 * the host's scheduler. On a loaded host each happened half of the time: one
 * state was 1,995,020 ns later than the other, at the same instruction.
 *
 * So after the write, wait with interrupts off until an instant that was fixed
 * before it. Whichever way the clock went, what runs afterwards runs at the
 * same time, with the same timers due. The wait executes a computed number of
 * instructions: a loop that polls the clock would end anywhere within its last
 * iteration.
 *
 * Use: echo 1 > /sys/module/doorbell/parameters/ring
 * Needs a clock that counts instructions (QEMU -icount), which rdtsc reads in
 * ns, and -device pvpanic with -action panic=pause.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/io.h>
#include <linux/irqflags.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <asm/msr.h>

#define PORT 0x505
#define RING 1

/*
 * From the write to the instant. More than a tick of any kernel (10 ms), as the
 * clock may be moved to the next tick.
 */
#define WAIT_NS 20000000

/* Time of an instruction in ns, measured with that clock. */
static u64 instruction_ns(void)
{
	u64 before, between, after;

	before = rdtsc();
	asm volatile("");
	between = rdtsc();
	asm volatile(".fill 256, 1, 0x90");
	after = rdtsc();
	return DIV_ROUND_CLOSEST(after - between - (between - before), 256);
}

/* Instructions of a turn of run_instructions()'s first loop, and the least that
 * it can run: a turn of it, and as many for its second loop. */
#define TURN  128
#define LEAST (2 * TURN)

/*
 * Executes @count instructions and a constant number more. @count must be at
 * least LEAST. Nearly all are in turns of many: each turn costs the emulator
 * the same, whatever its length.
 */
static void run_instructions(u64 count)
{
	u64 turns = count / TURN - 1, pairs;

	count -= turns * TURN;
	pairs = count >> 1;
	asm volatile("1:\n\t"
		     ".fill %c3, 1, 0x90\n\t"
		     "dec %0\n\t"
		     "jnz 1b\n\t"
		     "test $1, %b2\n\t"
		     "jz 2f\n\t"
		     "nop\n"
		     "2:\n\t"
		     "dec %1\n\t"
		     "jnz 2b"
		     : "+r"(turns), "+r"(pairs)
		     : "q"(count), "i"(TURN - 2)
		     : "cc");
}

static int ring(const char *value, const struct kernel_param *param)
{
	u64 step = instruction_ns(), rung, until;
	unsigned long flags;

	if (!step) {
		pr_err("the time stamp counter does not count instructions\n");
		return -ENODEV;
	}
	local_irq_save(flags);
	until = rdtsc() + WAIT_NS;
	outb(RING, PORT);
	rung = rdtsc();
	if (rung + LEAST * step <= until)
		run_instructions(div64_u64(until - rung, step));
	local_irq_restore(flags);
	if (rung + LEAST * step > until)
		pr_warn("the pause took too long: this state may not repeat\n");
	return 0;
}

static const struct kernel_param_ops ring_ops = {.set = ring};

module_param_cb(ring, &ring_ops, NULL, 0200);
MODULE_PARM_DESC(ring, "Any value: stop the board here, to save its state");

MODULE_DESCRIPTION("Stops a virtual board at a state that repeats");
MODULE_LICENSE("GPL");
