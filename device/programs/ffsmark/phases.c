// SPDX-License-Identifier: GPL-2.0-or-later
/* The span of a phase; see phases.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "clock.h"
#include "diag.h"
#include "json.h"
#include "phases.h"

void phases_open(struct phases *phases, const struct config *config,
		 struct result *result)
{
	bool named = strcmp(config->flash, FLASH_AUTO) != 0;
	struct flash_counters counters;

	memset(phases, 0, sizeof(*phases));
	phases->config = config;
	phases->result = result;
	if (!strcmp(config->flash, FLASH_NONE))
		return;
	phases->chip = text("%s", named ? config->flash : FLASHSTAT_DIRECTORY);
	if (!flash_read_counters(phases->chip, &counters)) {
		result->flash = true;
		result->partition_pages = counters.partition_pages;
		result->pages_per_block = counters.pages_per_block;
		return;
	}
	if (named)
		warnings_add(&result->warnings,
			     "flash-unavailable: cannot read '%s/counters': "
			     "%s; flash figures are null",
			     phases->chip, strerror(errno));
	free(phases->chip);
	phases->chip = NULL;
}

void phases_close(struct phases *phases)
{
	free(phases->chip);
	flash_free_blocks(&phases->blocks);
}

int phases_read_chip(const struct phases *phases,
		     struct flash_counters *counters)
{
	if (!phases->chip)
		return 0;
	/* It could be read when the run began, so this is a failure. */
	if (flash_read_counters(phases->chip, counters))
		return fail_errno("read the counters in", phases->chip);
	return 0;
}

int phases_sync(const struct config *config)
{
	for (size_t i = 0; i < config_location_count(config); i++)
		if (checked_syncfs(config_location(config, i)))
			return -1;
	return 0;
}

static void use(struct flash_use *use, const struct flash_counters *later,
		const struct flash_counters *earlier)
{
	use->reads = flash_delta(later->reads, earlier->reads);
	use->programs = flash_delta(later->programs, earlier->programs);
	use->erases = flash_delta(later->erases, earlier->erases);
}

int phase_begin(struct phases *phases)
{
	if (phases_read_chip(phases, &phases->start))
		return -1;
	phases->start_ns = now_ns();
	return 0;
}

/* The sync that ends a phase; @later becomes what the chip then counts. */
static int sync_phase(struct phases *phases, enum phase phase,
		      struct flash_counters *later)
{
	struct flash_counters done = *later;
	uint64_t start_ns = now_ns();

	if (phases_sync(phases->config))
		return -1;
	phases->result->sync_ns[phase] = now_ns() - start_ns;
	phases->result->synced[phase] = true;
	if (phases_read_chip(phases, later))
		return -1;
	if (phases->chip)
		use(&phases->result->sync_flash[phase], later, &done);
	return 0;
}

int phase_end(struct phases *phases, enum phase phase)
{
	uint64_t end_ns = now_ns();
	struct result *result = phases->result;
	struct flash_counters later = {0};

	result->phase_ns[phase] = end_ns - phases->start_ns;
	if (phase == PHASE_CREATION)
		phases->first_ns = phases->start_ns;
	result->elapsed_ns = end_ns - phases->first_ns;
	if (phases_read_chip(phases, &later))
		return -1;
	if ((phase == PHASE_FILL || phases->config->sync) &&
	    sync_phase(phases, phase, &later))
		return -1;
	if (!phases->chip)
		return 0;
	use(&result->phase_flash[phase], &later, &phases->start);
	if (result->phase_flash[phase].programs == COUNT_MISSING)
		warnings_add(&result->warnings,
			     "flash-incomplete: the chip's count of programs "
			     "is missing or went backwards in the %s phase",
			     phase_names[phase]);
	return 0;
}

int phases_blocks_begin(struct phases *phases)
{
	if (!phases->chip)
		return 0;
	if (flash_read_blocks(phases->chip, &phases->blocks))
		warnings_add(&phases->result->warnings,
			     "flash-incomplete: cannot read '%s/blocks': %s; "
			     "figures per block are null",
			     phases->chip, strerror(errno));
	return 0;
}

int phases_blocks_end(struct phases *phases)
{
	struct flash_blocks *first = &phases->blocks;
	struct flash_blocks last;

	if (!first->count)
		return 0;
	if (flash_read_blocks(phases->chip, &last))
		return fail_errno("read the blocks in", phases->chip);
	if (last.count != first->count) {
		flash_free_blocks(&last);
		return fail("the chip showed %llu blocks, then %llu",
			    (unsigned long long)first->count,
			    (unsigned long long)last.count);
	}
	for (uint64_t i = 0; i < last.count; i++) {
		last.reads[i] = flash_delta(last.reads[i], first->reads[i]);
		last.programs[i] =
			flash_delta(last.programs[i], first->programs[i]);
		last.erases[i] = flash_delta(last.erases[i], first->erases[i]);
	}
	phases->result->blocks = last;
	phases->result->blocks_known = true;
	return 0;
}
