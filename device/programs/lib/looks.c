// SPDX-License-Identifier: GPL-2.0-or-later
/* Looks at the chip; see looks.h. */
#include "diag.h"
#include "json.h"
#include "looks.h"

int look_at(struct look *look, const char *directory)
{
	look->there = !flash_read_counters(directory, &look->counters);
	if (!look->there)
		return 0;
	if (flash_read_blocks(directory, &look->blocks))
		return fail_errno("read the chip's statistics in", directory);
	return 0;
}

void look_free(struct look *look)
{
	flash_free_blocks(&look->blocks);
}

static bool both(const struct look *before, const struct look *after)
{
	return before->there && after->there &&
	       before->blocks.count == after->blocks.count;
}

void look_counts_json(struct json *json, const char *key,
		      const struct look *before, const struct look *after)
{
	const struct flash_counters *a = &before->counters;
	const struct flash_counters *b = &after->counters;

	if (!both(before, after))
		return;
	json_object(json, key);
	json_count(json, "reads", flash_delta(b->reads, a->reads));
	json_count(json, "programs", flash_delta(b->programs, a->programs));
	json_count(json, "erases", flash_delta(b->erases, a->erases));
	json_end(json);
}

static void list(struct json *json, const char *key, const uint64_t *later,
		 const uint64_t *earlier, uint64_t count)
{
	json_array(json, key);
	for (uint64_t i = 0; i < count; i++)
		json_count(json, NULL, flash_delta(later[i], earlier[i]));
	json_end(json);
}

void look_blocks_json(struct json *json, const struct look *before,
		      const struct look *after)
{
	const struct flash_blocks *a = &before->blocks;
	const struct flash_blocks *b = &after->blocks;

	if (!both(before, after)) {
		json_null(json, "per_block");
		return;
	}
	json_object(json, "per_block");
	list(json, "reads", b->reads, a->reads, b->count);
	list(json, "programs", b->programs, a->programs, b->count);
	list(json, "erases", b->erases, a->erases, b->count);
	json_end(json);
}
