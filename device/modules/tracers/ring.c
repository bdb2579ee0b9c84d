// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A ring of records for each CPU, allocated before the first event.
 *
 * A CPU writes into its own ring with interrupts off, so there is one writer
 * and no lock. A reader copies, then checks how far the writer has got
 * meanwhile, and discards what may have been overwritten.
 */
#include <linux/cpu.h>
#include <linux/export.h>
#include <linux/log2.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/vmalloc.h>

#include "core.h"

static DEFINE_PER_CPU(struct ring, rings);
static u64 ring_size;
bool ring_overwrites = true;

atomic64_t tracers_seq;
EXPORT_SYMBOL_GPL(tracers_seq);

struct ring *ring_of(unsigned int cpu)
{
	return per_cpu_ptr(&rings, cpu);
}

u64 rings_size(void)
{
	return ring_size;
}

int rings_init(unsigned long records)
{
	unsigned int cpu;

	ring_size = roundup_pow_of_two(records);
	for_each_possible_cpu(cpu)
	{
		struct ring *ring = ring_of(cpu);

		ring->records = vzalloc(ring_size * sizeof(*ring->records));
		if (!ring->records) {
			rings_exit();
			return -ENOMEM;
		}
	}
	return 0;
}

void rings_exit(void)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu) vfree(ring_of(cpu)->records);
}

static void reset_ring(struct ring *ring)
{
	*ring = (struct ring){.records = ring->records};
}

static void reset_this_ring(void *unused)
{
	reset_ring(this_cpu_ptr(&rings));
}

/* Each CPU resets its own ring, as an event that began before may end right
 * now. Numbers of events are not reset, so that it is not taken for one that
 * began after. */
void rings_reset(void)
{
	unsigned int cpu;

	cpus_read_lock();
	on_each_cpu(reset_this_ring, NULL, true);
	for_each_possible_cpu(cpu) if (!cpu_online(cpu))
		reset_ring(ring_of(cpu));
	cpus_read_unlock();
}

static bool ring_has_room(struct ring *ring)
{
	if (unlikely(in_nmi())) {
		ring->in_nmi++;
		return false;
	}
	if (unlikely(!ring_overwrites) &&
	    ring->begun - count_get(&ring->taken) >= ring_size) {
		ring->refused++;
		return false;
	}
	return true;
}

bool record_write(struct trace_record *record, u64 end_ns)
{
	unsigned long irq_flags;
	struct ring *ring;
	bool room;
	u64 at;

	record->latency_ns = end_ns - record->start_ns;
	record->pid = current->pid;
	local_irq_save(irq_flags);
	ring = this_cpu_ptr(&rings);
	room = ring_has_room(ring);
	if (likely(room)) {
		record->cpu = smp_processor_id();
		record->task = task_names ? task_number() : 0;
		at = ring->begun;
		count_set(&ring->begun, at + 1);
		smp_wmb(); /* begun is visible before any of the record */
		ring->records[at & (ring_size - 1)] = *record;
		count_release(&ring->done, at + 1);
	}
	local_irq_restore(irq_flags);
	return room;
}
EXPORT_SYMBOL_GPL(record_write);

u64 ring_oldest(const struct ring *ring)
{
	u64 begun = count_get(&ring->begun);
	u64 oldest = begun > ring_size ? begun - ring_size : 0;

	/* If nothing is overwritten, records that were taken make room. */
	return ring_overwrites ? oldest : max(oldest, count_get(&ring->taken));
}

unsigned int ring_copy(const struct ring *ring, u64 *from,
		       struct trace_record *to, unsigned int max)
{
	u64 done = count_acquire(&ring->done);
	u64 gone, first = max(*from, ring_oldest(ring));
	unsigned int i, n = min_t(u64, max, done - min(first, done));

	for (i = 0; i < n; i++)
		to[i] = ring->records[(first + i) & (ring_size - 1)];
	smp_rmb(); /* begun was raised before any of them was overwritten */
	gone = ring_oldest(ring);
	gone = gone > first ? min_t(u64, gone - first, n) : 0;
	memmove(to, to + gone, (n - gone) * sizeof(*to));
	*from = first + n;
	return n - gone;
}

void rings_sum(struct ring_sums *sums)
{
	unsigned int cpu;

	*sums = (struct ring_sums){};
	for_each_possible_cpu(cpu)
	{
		const struct ring *ring = ring_of(cpu);
		u64 begun = count_get(&ring->begun);
		u64 oldest = max(ring_oldest(ring), ring->taken);

		sums->written += begun;
		sums->unread += begun - oldest;
		sums->lost += ring->refused + ring->not_taken +
			      (oldest - ring->taken);
		sums->missed += ring->in_nmi;
	}
}
