// SPDX-License-Identifier: GPL-2.0-or-later
/* The report for programs: one JSON object on one line. */
#include <math.h>

#include "json.h"
#include "report.h"

/* Raised when a member changes its meaning or goes away. */
#define FORMAT 1

static void json_times(struct json *json, const char *key,
		       const struct result *result, const uint64_t *ns)
{
	json_object(json, key);
	for (int phase = 0; phase < PHASES; phase++)
		json_count(json, phase_names[phase],
			   phase == PHASE_FILL && !result->filled
				   ? COUNT_MISSING
				   : ns[phase]);
	json_end(json);
}

static void json_ops(struct json *json, const struct result *result)
{
	json_object(json, "ops");
	for (int op = 0; op < OPS; op++) {
		const uint64_t *by_phase = result->ops[op];

		json_object(json, op_names[op]);
		json_count(json, "total", result_total(result, op));
		if (op == OP_CREATE)
			json_count(json, "creation", by_phase[PHASE_CREATION]);
		if (op == OP_DELETE)
			json_count(json, "deletion", by_phase[PHASE_DELETION]);
		if (op == OP_CREATE || op == OP_DELETE)
			json_count(json, "transactions",
				   by_phase[PHASE_TRANSACTIONS]);
		json_end(json);
	}
	json_end(json);
	json_count(json, "transactions_done", result->transactions);
	json_object(json, "bytes");
	json_count(json, "read", result->bytes_read);
	json_count(json, "written", result->bytes_written);
	json_end(json);
}

static void json_uses(struct json *json, const char *key,
		      const struct result *result, const struct flash_use *uses)
{
	json_object(json, key);
	for (int phase = 0; phase < PHASES; phase++) {
		if (phase == PHASE_FILL && !result->filled) {
			json_null(json, phase_names[phase]);
			continue;
		}
		json_object(json, phase_names[phase]);
		json_count(json, "reads", uses[phase].reads);
		json_count(json, "programs", uses[phase].programs);
		json_count(json, "erases", uses[phase].erases);
		json_end(json);
	}
	json_end(json);
}

/* How evenly the erases fell: the population's figures, not a sample's. */
static void json_spread(struct json *json, const struct flash_blocks *blocks)
{
	uint64_t least = COUNT_MISSING, most = 0;
	double sum = 0, squares = 0, mean;

	for (uint64_t i = 0; i < blocks->count; i++) {
		uint64_t erases = blocks->erases[i];

		if (erases == COUNT_MISSING) {
			json_null(json, "erases_per_block");
			return;
		}
		sum += (double)erases;
		least = erases < least ? erases : least;
		most = erases > most ? erases : most;
	}
	mean = sum / (double)blocks->count;
	for (uint64_t i = 0; i < blocks->count; i++) {
		double off = (double)blocks->erases[i] - mean;

		squares += off * off;
	}
	json_object(json, "erases_per_block");
	json_real(json, "mean", mean);
	json_real(json, "stddev", sqrt(squares / (double)blocks->count));
	json_count(json, "min", least);
	json_count(json, "max", most);
	json_end(json);
}

static void json_counts(struct json *json, const char *key,
			const uint64_t *counts, uint64_t count)
{
	json_array(json, key);
	for (uint64_t i = 0; i < count; i++)
		json_count(json, NULL, counts[i]);
	json_end(json);
}

static void json_flash(struct json *json, const struct result *result)
{
	const struct flash_blocks *blocks = &result->blocks;

	if (!result->flash) {
		json_null(json, "flash");
		return;
	}
	json_object(json, "flash");
	json_uses(json, "phases", result, result->phase_flash);
	json_uses(json, "sync", result, result->sync_flash);
	if (result->blocks_known) {
		json_spread(json, blocks);
		json_object(json, "per_block");
		json_counts(json, "reads", blocks->reads, blocks->count);
		json_counts(json, "programs", blocks->programs, blocks->count);
		json_counts(json, "erases", blocks->erases, blocks->count);
		json_end(json);
	} else {
		json_null(json, "erases_per_block");
		json_null(json, "per_block");
	}
	json_count(json, "partition_pages", result->partition_pages);
	json_count(json, "pages_per_block", result->pages_per_block);
	json_end(json);
}

static void json_state(struct json *json, const struct config *config,
		       const struct fill_state *state)
{
	json_object(json, "state");
	json_object(json, "asked");
	json_real(json, "valid", config->fill_valid);
	json_real(json, "invalid", config->fill_invalid);
	json_real(json, "mix", config->fill_mix);
	json_end(json);
	if (state->known) {
		json_object(json, "obtained");
		json_real(json, "valid", state->valid);
		json_real(json, "invalid", state->invalid);
		json_real(json, "before", state->before);
		json_real(json, "programmed", state->programmed);
		json_end(json);
	} else {
		json_null(json, "obtained");
	}
	json_end(json);
}

int report_json(FILE *out, const struct config *config,
		const struct result *result)
{
	struct json json = {.out = out};

	json_object(&json, NULL);
	json_text(&json, "program", "ffsmark");
	json_count(&json, "format", FORMAT);
	config_json(&json, config);
	json_times(&json, "phase_ns", result, result->phase_ns);
	json_times(&json, "sync_ns", result, result->sync_ns);
	json_ops(&json, result);
	json_object(&json, "latency_ns");
	for (int op = 0; op < OPS; op++)
		latency_json(&json, op_names[op], &result->latency[op]);
	json_end(&json);
	json_flash(&json, result);
	json_state(&json, config, &result->state);
	warnings_json(&json, "warnings", &result->warnings);
	json_end(&json);
	return json_finish(&json);
}
