// SPDX-License-Identifier: GPL-2.0-or-later
/* What the fill has obtained, beside what was asked for. */
#include "fill.h"

#include <math.h>

/* Warn if the share obtained is over 2 percentage points off the one asked. */
static void compare(struct result *result, const char *what, double asked,
		    double obtained)
{
	if (fabs(asked - obtained) > 0.02)
		warnings_add(&result->warnings,
			     "fill-off-target: %s: %.1f %% asked, %.1f %% "
			     "obtained",
			     what, asked * 100, obtained * 100);
}

void fill_judge(const struct config *config, struct result *result,
		const struct flash_counters *before_creation)
{
	struct fill_state *state = &result->state;
	double asked, left;

	/* After a fill that went by bytes, the state stays unknown. */
	state->known = result->flash && fill_is_counted(before_creation) &&
		       (state->known || !result->filled);
	if (!state->known)
		return;
	state->programmed = (double)before_creation->pages_programmed /
			    (double)before_creation->partition_pages;
	if (!result->filled) {
		state->before = state->programmed;
		state->split = true;
		return;
	}
	if (!state->split)
		return;
	/* Pages that the file system has erased since are not invalid now. */
	left = fmax(0, state->programmed - state->before - state->valid);
	state->invalid = fmin(state->invalid, left);
	asked = state->before + config->fill_valid + config->fill_invalid;
	compare(result, "valid pages", config->fill_valid, state->valid);
	compare(result, "invalid pages", config->fill_invalid, state->invalid);
	if (state->programmed > asked)
		compare(result, "pages programmed right before the creation",
			asked, state->programmed);
}
