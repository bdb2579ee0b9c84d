// SPDX-License-Identifier: GPL-2.0-or-later
/* Open addressing with linear probing; a removal closes its gap. */
#include <linux/hash.h>
#include <linux/spinlock.h>
#include <linux/vmalloc.h>

#include "table.h"

struct slot {
	const void *address; /* NULL: free */
	u32 bytes;
	u16 kind;
	u16 function; /* its number */
};

static struct slot *slots;
static unsigned int log2_slots;
static struct ram_sums sums;
static DEFINE_RAW_SPINLOCK(lock);

static u32 mask(void)
{
	return (1u << log2_slots) - 1;
}

static u32 home(const void *address)
{
	return hash_ptr(address, log2_slots);
}

int ram_init(unsigned int slots_log2)
{
	slots = vzalloc(sizeof(*slots) << slots_log2);
	log2_slots = slots_log2;
	return slots ? 0 : -ENOMEM;
}

void ram_exit(void)
{
	vfree(slots);
}

/* The slot of the address, or the free slot where it would go. */
static u32 find(const void *address)
{
	u32 at = home(address);

	while (slots[at].address && slots[at].address != address)
		at = (at + 1) & mask();
	return at;
}

static void close_gap(u32 gap)
{
	u32 at = gap;

	for (;;) {
		at = (at + 1) & mask();
		if (!slots[at].address)
			break;
		/* Entries that probed past the gap to get here move into it. */
		if (((at - home(slots[at].address)) & mask()) >=
		    ((at - gap) & mask())) {
			slots[gap] = slots[at];
			gap = at;
		}
	}
	slots[gap].address = NULL;
}

static bool take_out(const void *address)
{
	u32 at = find(address);

	if (!slots[at].address)
		return false;
	series_go_on(sums.held);
	sums.bytes[slots[at].kind] -= slots[at].bytes;
	sums.held.bytes -= slots[at].bytes;
	if (function_is_reclaimable(slots[at].function))
		sums.held.reclaimable_bytes -= slots[at].bytes;
	function_freed(slots[at].function, slots[at].bytes);
	sums.objects--;
	sums.frees++;
	close_gap(at);
	return true;
}

bool ram_remove(const void *address)
{
	unsigned long flags;
	bool found;

	raw_spin_lock_irqsave(&lock, flags);
	found = take_out(address);
	raw_spin_unlock_irqrestore(&lock, flags);
	return found;
}

static void note_peaks(void)
{
	u64 kept = sums.held.bytes - sums.held.reclaimable_bytes;

	sums.peak_bytes = max(sums.peak_bytes, sums.held.bytes);
	sums.peak_kept_bytes = max(sums.peak_kept_bytes, kept);
}

static void put_in(struct slot slot)
{
	series_go_on(sums.held);
	slots[find(slot.address)] = slot;
	sums.objects++;
	sums.bytes[slot.kind] += slot.bytes;
	sums.held.bytes += slot.bytes;
	if (function_is_reclaimable(slot.function))
		sums.held.reclaimable_bytes += slot.bytes;
	note_peaks();
	function_allocated(slot.function, slot.bytes);
}

void ram_add(const void *address, u32 bytes, enum ram_kind kind,
	     unsigned long site)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	take_out(address);
	sums.allocations++;
	/* One slot in eight stays free: probing ends at a free slot. */
	if (sums.objects >= mask() - mask() / 8)
		sums.lost++;
	else
		put_in((struct slot){address, bytes, kind, function_of(site)});
	raw_spin_unlock_irqrestore(&lock, flags);
}

void ram_reset_peak(void)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	sums.peak_bytes = sums.peak_kept_bytes = 0;
	note_peaks();
	functions_reset_peak();
	raw_spin_unlock_irqrestore(&lock, flags);
}

void ram_begin_series(void)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	series_begin(sums.held);
	raw_spin_unlock_irqrestore(&lock, flags);
}

struct ram_sums ram_sums(void)
{
	struct ram_sums now;
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	series_go_on(sums.held);
	now = sums;
	now.samples = series_count();
	now.samples_lost = series_lost();
	raw_spin_unlock_irqrestore(&lock, flags);
	return now;
}

bool ram_function(unsigned int number, struct ram_function *to)
{
	unsigned long flags;
	bool found;

	raw_spin_lock_irqsave(&lock, flags);
	found = function_get(number, to);
	raw_spin_unlock_irqrestore(&lock, flags);
	return found;
}

bool ram_sample(u64 number, struct ram_sample *to)
{
	unsigned long flags;
	bool found;

	raw_spin_lock_irqsave(&lock, flags);
	found = series_get(number, to);
	raw_spin_unlock_irqrestore(&lock, flags);
	return found;
}
