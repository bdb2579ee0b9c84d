// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * doorbell for a virtual board with a 32-bit ARM: see doorbell.c, which says
 * why and does the same on an x86.
 *
 * Use: echo 1 > /sys/module/doorbell/parameters/ring
 * Needs a clock that counts instructions (QEMU -icount), which the virtual
 * counter reads in ns (cntfrq=1000000000), and -device pvpanic-pci with
 * -action panic=pause.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/io.h>
#include <linux/irqflags.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/pci.h>

#define VENDOR 0x1b36 /* of QEMU's devices */
#define DEVICE 0x0011
#define RING   1

/* From the write to the instant, as in doorbell.c. */
#define WAIT_NS 20000000

static struct pci_dev *device;
static void __iomem *bell;

static __always_inline u64 counted_ns(void)
{
	u64 value;

	asm volatile("mrrc p15, 1, %Q0, %R0, c14" : "=r"(value)::"memory");
	return value;
}

/* Time of an instruction in ns, measured with that clock. */
static u64 instruction_ns(void)
{
	u64 before, between, after;

	before = counted_ns();
	between = counted_ns();
	asm volatile(".rept 256\n\tnop\n\t.endr");
	after = counted_ns();
	return DIV_ROUND_CLOSEST_ULL(after - between - (between - before), 256);
}

/* Executes @count instructions and a constant number more. @count must be at
 * least 2. */
static void run_instructions(u32 count)
{
	u32 turns = count >> 1;

	asm volatile("tst %1, #1\n\t"
		     "beq 1f\n\t"
		     "nop\n"
		     "1:\n\t"
		     "subs %0, %0, #1\n\t"
		     "bne 1b"
		     : "+r"(turns)
		     : "r"(count)
		     : "cc");
}

static int ring(const char *value, const struct kernel_param *param)
{
	u64 step = instruction_ns(), rung, until;
	unsigned long flags;

	if (!step || !bell) {
		pr_err("no bell, or the counter counts no instructions\n");
		return -ENODEV;
	}
	local_irq_save(flags);
	until = counted_ns() + WAIT_NS;
	writeb_relaxed(RING, bell);
	rung = counted_ns();
	if (rung + 2 * step <= until)
		run_instructions((u32)div64_u64(until - rung, step));
	local_irq_restore(flags);
	if (rung + 2 * step > until)
		pr_warn("the pause took too long: this state may not repeat\n");
	return 0;
}

static const struct kernel_param_ops ring_ops = {.set = ring};

module_param_cb(ring, &ring_ops, NULL, 0200);
MODULE_PARM_DESC(ring, "Any value: stop the board here, to save its state");

static int __init doorbell_init(void)
{
	device = pci_get_device(VENDOR, DEVICE, NULL);
	if (!device || pci_enable_device(device))
		goto none;
	bell = pci_iomap(device, 0, 0);
	if (bell)
		return 0;
	pci_disable_device(device);
none:
	pci_dev_put(device);
	pr_err("no pvpanic-pci to ring\n");
	return -ENODEV;
}

static void __exit doorbell_exit(void)
{
	pci_iounmap(device, bell);
	pci_disable_device(device);
	pci_dev_put(device);
}

module_init(doorbell_init);
module_exit(doorbell_exit);
MODULE_DESCRIPTION("Stops a virtual board at a state that repeats");
MODULE_LICENSE("GPL");
