// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of the counts, and how they are split into phases: see counts.h. */
#include "counts.h"

const char *const chip_count_names[CHIP_COUNT_KINDS] = {
#define CHIP_COUNT_NAME(name) #name,
	CHIP_COUNTS(CHIP_COUNT_NAME)
#undef CHIP_COUNT_NAME
};

void phases_update(struct phases *phases, const struct chip_counts *now)
{
	const u64 *from = (const u64 *)&phases->base;
	const u64 *to = (const u64 *)now;
	u64 *sum;
	unsigned int i;

	if (!phases->open)
		return;
	sum = (u64 *)&phases->phase[phases->count - 1].counts;
	for (i = 0; i < CHIP_COUNT_KINDS; i++)
		sum[i] += to[i] - from[i];
	phases->base = *now;
}

void phases_rebase(struct phases *phases, const struct chip_counts *now)
{
	phases_update(phases, now);
	memset(&phases->base, 0, sizeof(phases->base));
}

int phases_mark(struct phases *phases, const struct chip_counts *now,
		const char *name, u64 clock_ns)
{
	struct phase *phase;

	phases_update(phases, now);
	if (phases->open)
		phases->phase[phases->count - 1].end_ns = clock_ns;
	phases->open = false;
	if (!*name)
		return 0;
	if (phases->count == PHASES_MAX)
		return -ENOSPC;
	phase = &phases->phase[phases->count++];
	memset(phase, 0, sizeof(*phase));
	strncpy(phase->name, name, PHASE_NAME_MAX - 1);
	phase->start_ns = clock_ns;
	phases->base = *now;
	phases->open = true;
	return 0;
}
