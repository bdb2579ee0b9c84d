// SPDX-License-Identifier: GPL-2.0-or-later
#include <linux/math64.h>
#include <linux/ktime.h>
#include <linux/vmalloc.h>

#include "series.h"

static struct ram_sample *ring;
static unsigned int room;
static u64 interval_ns;
static u64 taken;  /* samples */
static u64 end_ns; /* of the interval under way; 0: the series has not begun */

int series_init(unsigned int interval_ms, unsigned int samples)
{
	interval_ns = (u64)interval_ms * NSEC_PER_MSEC;
	if (!interval_ns)
		return 0;
	room = samples;
	ring = vzalloc(array_size(samples, sizeof(*ring)));
	return ring ? 0 : -ENOMEM;
}

void series_exit(void)
{
	vfree(ring);
}

static struct ram_sample *at(u64 number)
{
	u32 place;

	div_u64_rem(number, room, &place);
	return &ring[place];
}

static void take(u64 t_ns, struct ram_held held)
{
	*at(taken++) = (struct ram_sample){t_ns, held};
}

void series_begin(struct ram_held held)
{
	u64 now = ktime_get_ns();

	if (!interval_ns)
		return;
	taken = 0;
	take(now, held);
	end_ns = now + interval_ns;
}

static bool is_news(struct ram_held held)
{
	struct ram_held last = at(taken - 1)->held;

	return held.bytes != last.bytes ||
	       held.reclaimable_bytes != last.reclaimable_bytes;
}

void series_go_on(struct ram_held held)
{
	u64 now;

	if (!end_ns)
		return;
	now = ktime_get_ns();
	if (now < end_ns)
		return;
	if (is_news(held))
		take(end_ns, held);
	end_ns += (div64_u64(now - end_ns, interval_ns) + 1) * interval_ns;
}

u64 series_count(void)
{
	return taken;
}

u64 series_lost(void)
{
	return taken > room ? taken - room : 0;
}

bool series_get(u64 number, struct ram_sample *to)
{
	if (number < series_lost() || number >= taken)
		return false;
	*to = *at(number);
	return true;
}
