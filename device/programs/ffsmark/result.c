// SPDX-License-Identifier: GPL-2.0-or-later
/* The result of a run; see result.h. */
#include "result.h"

const char *const phase_names[PHASES] = {"fill", "creation", "transactions",
					 "deletion"};
const char *const op_names[OPS] = {"create", "read", "append", "delete"};

uint64_t result_total(const struct result *result, enum op op)
{
	uint64_t total = 0;

	for (int phase = 0; phase < PHASES; phase++)
		total += result->ops[op][phase];
	return total;
}

void result_close(struct result *result)
{
	for (int op = 0; op < OPS; op++)
		latency_close(&result->latency[op]);
	if (result->blocks_known)
		flash_free_blocks(&result->blocks);
	warnings_close(&result->warnings);
}
