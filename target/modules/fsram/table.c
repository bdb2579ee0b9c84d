// SPDX-License-Identifier: GPL-2.0-or-later
/* Open addressing with linear probing; a removal closes its gap. */
#include <linux/hash.h>
#include <linux/spinlock.h>
#include <linux/vmalloc.h>

#include "table.h"

struct slot {
	const void *address; /* NULL: free */
	u32 bytes;
	u32 kind;
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
	sums.bytes[slots[at].kind] -= slots[at].bytes;
	sums.total_bytes -= slots[at].bytes;
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

void ram_add(const void *address, u32 bytes, enum ram_kind kind)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	take_out(address);
	sums.allocations++;
	/* One slot in eight stays free: probing ends at a free slot. */
	if (sums.objects >= mask() - mask() / 8) {
		sums.lost++;
	} else {
		slots[find(address)] = (struct slot){address, bytes, kind};
		sums.objects++;
		sums.bytes[kind] += bytes;
		sums.total_bytes += bytes;
		sums.peak_bytes = max(sums.peak_bytes, sums.total_bytes);
	}
	raw_spin_unlock_irqrestore(&lock, flags);
}

void ram_reset_peak(void)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	sums.peak_bytes = sums.total_bytes;
	raw_spin_unlock_irqrestore(&lock, flags);
}

struct ram_sums ram_sums(void)
{
	struct ram_sums now;
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	now = sums;
	raw_spin_unlock_irqrestore(&lock, flags);
	return now;
}
