// SPDX-License-Identifier: GPL-2.0-or-later
/* Probes: see probes.h. */
#include <linux/export.h>
#include <linux/slab.h>

#include "compat.h"
#include "probes.h"

static struct probe *probe_of(struct kretprobe_instance *instance)
{
	return container_of(get_kretprobe(instance), struct probe, ret);
}

static int entered(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct probe *probe = probe_of(instance);

	return !probe->enter(probe, regs, instance->data);
}
NOKPROBE_SYMBOL(entered);

static int left(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct kretprobe *ret = get_kretprobe(instance);
	struct probe *probe;

	if (!ret) /* the probe went while the function ran */
		return 0;
	probe = container_of(ret, struct probe, ret);
	probe->leave(probe, instance->data, regs_return_value(regs));
	return 0;
}
NOKPROBE_SYMBOL(left);

static int passed(struct kprobe *kprobe, struct pt_regs *regs)
{
	struct probe *probe = container_of(kprobe, struct probe, ret.kp);

	probe->enter(probe, regs, NULL);
	return 0;
}
NOKPROBE_SYMBOL(passed);

int probe_arm(struct probe *probe)
{
	struct kretprobe *ret = &probe->ret;
	int err;

	memset(ret, 0, sizeof(*ret));
	if (probe->address)
		ret->kp.addr = probe->address;
	else
		ret->kp.symbol_name = probe->name;
	if (probe->leave) {
		ret->entry_handler = entered;
		ret->handler = left;
		ret->data_size = probe->data_bytes;
		ret->maxactive = PROBE_CALLS_MAX;
		err = register_kretprobe(ret);
	} else {
		ret->kp.pre_handler = passed;
		err = register_kprobe(&ret->kp);
	}
	probe->armed = !err;
	return err;
}
EXPORT_SYMBOL_GPL(probe_arm);

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

/* At once, for each removal waits for the whole machine. */
void probes_disarm(struct probe *const *probes, unsigned int count)
{
	struct kretprobe **rets = kcalloc(count, sizeof(*rets), GFP_KERNEL);
	struct kprobe **kps = kcalloc(count, sizeof(*kps), GFP_KERNEL);
	unsigned int i, n_rets = 0, n_kps = 0;

	for (i = 0; i < count; i++) {
		struct probe *probe = probes[i];

		if (!probe->armed)
			continue;
		probe->missed_before += missed_now(probe);
		probe->armed = false;
		if (!rets || !kps) {
			if (probe->leave)
				unregister_kretprobe(&probe->ret);
			else
				unregister_kprobe(&probe->ret.kp);
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
	kfree(rets);
	kfree(kps);
}
EXPORT_SYMBOL_GPL(probes_disarm);

bool probe_possible(const char *name)
{
	struct kprobe kprobe = {.symbol_name = name};

	if (register_kprobe(&kprobe))
		return false;
	unregister_kprobe(&kprobe);
	return true;
}
EXPORT_SYMBOL_GPL(probe_possible);
