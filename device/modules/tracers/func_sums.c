// SPDX-License-Identifier: GPL-2.0-or-later
/* Sums of functions, which need no log: /proc/tracers/funcmon_functions. */
#include <linux/proc_fs.h>
#include <linux/seq_file.h>

#include "func.h"

static struct proc_dir_entry *sums_file;

void func_sums_add(struct func *func, u64 ns, u64 inner_ns)
{
	struct func_sums *sums = &func->sums;
	unsigned long irq_flags;

	raw_spin_lock_irqsave(&func->lock, irq_flags);
	if (!sums->calls++ || ns < sums->min_ns)
		sums->min_ns = ns;
	if (ns > sums->max_ns)
		sums->max_ns = ns;
	sums->total_ns += ns;
	sums->self_ns += ns - inner_ns;
	sums->histogram[min(fls64(ns), FUNC_HISTOGRAM - 1)]++;
	raw_spin_unlock_irqrestore(&func->lock, irq_flags);
}

void func_sums_reset(struct func *func)
{
	unsigned long irq_flags;

	raw_spin_lock_irqsave(&func->lock, irq_flags);
	/* Calls under way end after this, and stay counted as entered. */
	func->entered_at_reset += func->sums.calls;
	func->sums = (struct func_sums){};
	raw_spin_unlock_irqrestore(&func->lock, irq_flags);
}

static void show_func(struct seq_file *file, struct func *func)
{
	struct func_sums *sums = &func->sums;
	u64 open = atomic64_read(&func->entered) - func->entered_at_reset -
		   sums->calls;
	const char *space = "";
	unsigned int i;

	seq_printf(file, "%s;%llu;%llu;%llu;%llu;%llu;%llu;%llu;", func->name,
		   sums->calls, sums->total_ns, sums->self_ns, sums->min_ns,
		   sums->max_ns, open, probe_missed(&func->probe));
	for (i = 0; i < FUNC_HISTOGRAM; i++) {
		if (!sums->histogram[i])
			continue;
		seq_printf(file, "%s%u:%llu", space, i, sums->histogram[i]);
		space = " ";
	}
	seq_putc(file, '\n');
}

static int sums_show(struct seq_file *file, void *unused)
{
	unsigned int i;

	seq_puts(file, "function;calls;total_ns;self_ns;min_ns;max_ns;open;"
		       "missed;histogram_log2_ns\n");
	mutex_lock(&tracers_lock);
	for (i = 0; i < funcs_count; i++)
		show_func(file, &funcs[i]);
	mutex_unlock(&tracers_lock);
	return 0;
}

int func_sums_init(void)
{
	sums_file = proc_create_single("funcmon_functions", 0400, tracers_dir,
				       sums_show);
	return sums_file ? 0 : -ENOMEM;
}

void func_sums_exit(void)
{
	proc_remove(sums_file);
}
