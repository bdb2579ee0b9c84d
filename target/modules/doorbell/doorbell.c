// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * doorbell: stops the virtual board so that its saved state is always the same.
 *
 * A write to the pvpanic port pauses the board within that instruction, but not
 * its clock: until QEMU's main loop has taken note, the processor counts as
 * idle, and the main loop may or may not move the clock to the next timer, as
 * the host's scheduler has it. We saw both, half and half on a loaded host: one
 * state stood 1,995,020 ns later than the other, at the same instruction.
 *
 * So the ring is followed by a wait, with interrupts off, to an instant that
 * was fixed before it. Whichever way the clock went, what runs afterwards runs
 * at the same time, with the same timers due. The wait counts instructions, as
 * many as are left: a loop until the clock has passed would end anywhere within
 * its last turn.
 *
 * Use: echo 1 > /sys/module/doorbell/parameters/ring
 * Needs a clock that counts instructions (QEMU -icount), which rdtsc tells in
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
 * From the ring to the instant. More than a tick of any kernel (10 ms), as the
 * clock may be moved to the next tick.
 */
#define WAIT_NS 20000000

/* Time of an instruction, by the clock that it is to be told from. */
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

/* Runs exactly @count instructions more than for a @count of 2. */
static void run_instructions(u64 count)
{
	u64 turns = count >> 1;

	asm volatile("test $1, %b1\n\t"
		     "jz 1f\n\t"
		     "nop\n"
		     "1:\n\t"
		     "dec %0\n\t"
		     "jnz 1b"
		     : "+r"(turns)
		     : "q"(count)
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
	if (rung + 2 * step <= until)
		run_instructions(div64_u64(until - rung, step));
	local_irq_restore(flags);
	if (rung + 2 * step > until)
		pr_warn("rang too long: this state may not repeat\n");
	return 0;
}

static const struct kernel_param_ops ring_ops = {.set = ring};

module_param_cb(ring, &ring_ops, NULL, 0200);
MODULE_PARM_DESC(ring, "Any value: stop the board here, to be saved");

MODULE_DESCRIPTION("Stops a virtual board for a state that repeats");
MODULE_LICENSE("GPL");
