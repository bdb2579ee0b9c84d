// SPDX-License-Identifier: GPL-2.0-or-later
/* Probes: see probes.h. */
#include <linux/export.h>
#include <linux/slab.h>
#ifdef CONFIG_X86_KERNEL_IBT
#include <asm/ibt.h>
#endif

#include "compat.h"
#include "probes.h"

static struct probe *probe_of(struct kretprobe_instance *instance)
{
	return container_of(get_kretprobe(instance), struct probe, ret);
}

static void args_of(const struct pt_regs *regs, unsigned long *args)
{
	unsigned int i;

	for (i = 0; i < PROBE_ARGS; i++)
		args[i] = call_arg(regs, i);
}
NOKPROBE_SYMBOL(args_of);

static int entered(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct probe *probe = probe_of(instance);
	unsigned long args[PROBE_ARGS];

	args_of(regs, args);
	if (probe->wants && !probe->wants(probe, args))
		return 1;
	return !probe->enter(probe, args, instance->data);
}
NOKPROBE_SYMBOL(entered);

static int left(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct kretprobe *ret = get_kretprobe(instance);
	struct probe *probe;

	if (!ret) /* the probe was removed while the function ran */
		return 0;
	probe = container_of(ret, struct probe, ret);
	probe->leave(probe, instance->data, regs_return_value(regs));
	return 0;
}
NOKPROBE_SYMBOL(left);

static int passed(struct kprobe *kprobe, struct pt_regs *regs)
{
	struct probe *probe = container_of(kprobe, struct probe, ret.kp);
	unsigned long args[PROBE_ARGS];

	args_of(regs, args);
	if (!probe->wants || probe->wants(probe, args))
		probe->enter(probe, args, NULL);
	return 0;
}
NOKPROBE_SYMBOL(passed);

static int arm_kprobe(struct probe *probe)
{
	struct kretprobe *ret = &probe->ret;

	if (!probe->leave) {
		ret->kp.pre_handler = passed;
		return register_kprobe(&ret->kp);
	}
	ret->entry_handler = entered;
	ret->handler = left;
	ret->data_size = probe->data_bytes;
	ret->maxactive = PROBE_CALLS_MAX;
	return register_kretprobe(ret);
}

/* Find a function's address with a kprobe, which sits behind the ENDBR
 * instruction if there is one. 0: there is no such function. The kprobe is
 * never armed: for that, ftrace walks all functions of the kernel. */
static unsigned long address_of(const char *name)
{
	struct kprobe kprobe = {
		.symbol_name = name,
		.flags = KPROBE_FLAG_DISABLED,
	};
	unsigned long address;

	if (register_kprobe(&kprobe))
		return 0;
	address = (unsigned long)kprobe.addr;
	unregister_kprobe(&kprobe);
#ifdef CONFIG_X86_KERNEL_IBT
	if (is_endbr(*(u32 *)(address - 4)))
		address -= 4;
#endif
	return address;
}

bool probe_possible(const char *name)
{
	return address_of(name);
}
EXPORT_SYMBOL_GPL(probe_possible);

int probe_arm(struct probe *probe)
{
	unsigned long address = (unsigned long)probe->address;
	int err = -EOPNOTSUPP;

	memset(&probe->ret, 0, sizeof(probe->ret));
	if (!address) {
		address = address_of(probe->name);
		if (!address)
			return -ENOENT;
	}
	probe->detoured = false;
	if (probe->may_detour) {
		err = detour_arm(probe, address);
		probe->detoured = !err;
	}
	if (err) {
		probe->ret.kp.addr = (kprobe_opcode_t *)address;
		err = arm_kprobe(probe);
	}
	probe->armed = !err;
	return err;
}
EXPORT_SYMBOL_GPL(probe_arm);

const char *probe_kind(const struct probe *probe)
{
	if (probe->detoured)
		return "detour";
	return probe->leave ? "kretprobe" : "kprobe";
}
EXPORT_SYMBOL_GPL(probe_kind);

static u64 missed_now(const struct probe *probe)
{
	return probe->ret.nmissed + probe->ret.kp.nmissed;
}

u64 probe_missed(const struct probe *probe)
{
	return probe->missed_before + (probe->armed ? missed_now(probe) : 0) -
	       probe->forgotten;
}
EXPORT_SYMBOL_GPL(probe_missed);

void probe_forget_missed(struct probe *probe)
{
	probe->forgotten += probe_missed(probe);
}
EXPORT_SYMBOL_GPL(probe_forget_missed);

/* Remove all probes of a kind at once: each removal waits for all CPUs. */
void probes_disarm(struct probe *const *probes, unsigned int count)
{
	struct kretprobe *rets[64];
	struct kprobe *kps[64];
	unsigned int i, n_rets = 0, n_kps = 0, n_detours = 0;

	for (i = 0; i < count && i < ARRAY_SIZE(rets); i++) {
		struct probe *probe = probes[i];

		if (!probe->armed)
			continue;
		probe->missed_before += missed_now(probe);
		probe->armed = false;
		if (probe->detoured) {
			detour_close(probe);
			n_detours++;
		} else if (probe->leave) {
			rets[n_rets++] = &probe->ret;
		} else {
			kps[n_kps++] = &probe->ret.kp;
		}
	}
	if (n_rets)
		unregister_kretprobes(rets, n_rets);
	if (n_kps)
		unregister_kprobes(kps, n_kps);
	if (n_detours)
		detours_settle();
	if (count > i)
		probes_disarm(probes + i, count - i);
}
EXPORT_SYMBOL_GPL(probes_disarm);

void probes_release(struct probe *const *probes, unsigned int count)
{
	detours_release(probes, count);
}
EXPORT_SYMBOL_GPL(probes_release);
