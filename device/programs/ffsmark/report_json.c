// SPDX-License-Identifier: GPL-2.0-or-later
/* The report for programs: one JSON object on one line. */
#include <math.h>

#include "json.h"
#include "report.h"

/* Version; raised when a member changes its meaning or is removed. */
#define FORMAT 2

static void json_use(struct json *json, const char *key,
		     const struct flash_use *use)
{
	if (use->reads == COUNT_MISSING || use->programs == COUNT_MISSING ||
	    use->erases == COUNT_MISSING) {
		json_null(json, key);
		return;
	}
	json_object(json, key);
	json_count(json, "reads", use->reads);
	json_count(json, "programs", use->programs);
	json_count(json, "erases", use->erases);
	json_end(json);
}

/* Whether the phase may have operations of the kind, even if none was done. */
static bool has_kind(int phase, int op)
{
	switch (phase) {
	case PHASE_CREATION:
		return op == OP_CREATE;
	case PHASE_TRANSACTIONS:
		return true;
	case PHASE_DELETION:
		return op == OP_DELETE;
	default:
		return false;
	}
}

static void json_phase(struct json *json, const struct result *result,
		       int phase)
{
	json_object(json, NULL);
	json_text(json, "name", phase_names[phase]);
	json_count(json, "ns", result->phase_ns[phase]);
	if (result->synced[phase])
		json_count(json, "sync_ns", result->sync_ns[phase]);
	else
		json_null(json, "sync_ns");
	json_object(json, "operations");
	for (int op = 0; op < OPS; op++)
		if (has_kind(phase, op))
			json_count(json, op_names[op], result->ops[op][phase]);
	json_end(json);
	if (result->flash)
		json_use(json, "chip", &result->phase_flash[phase]);
	if (result->flash && result->synced[phase])
		json_use(json, "chip_sync", &result->sync_flash[phase]);
	json_end(json);
}

/* As Postmark reports its data: over all the time from creation to deletion. */
static void json_rate(struct json *json, const char *key, uint64_t bytes,
		      uint64_t elapsed_ns)
{
	if (elapsed_ns)
		json_real(json, key, (double)bytes * 1e9 / (double)elapsed_ns);
}

static void json_load(struct json *json, const struct result *result)
{
	json_array(json, "phases");
	for (int phase = 0; phase < PHASES; phase++)
		if (phase != PHASE_FILL || result->filled)
			json_phase(json, result, phase);
	json_end(json);
	json_object(json, "operations");
	for (int op = 0; op < OPS; op++)
		json_count(json, op_names[op], result_total(result, op));
	json_end(json);
	json_count(json, "transactions_done", result->transactions);
	json_object(json, "bytes");
	json_count(json, "read", result->bytes_read);
	json_count(json, "written", result->bytes_written);
	json_end(json);
	json_object(json, "figures");
	json_rate(json, "read_per_s", result->bytes_read, result->elapsed_ns);
	json_rate(json, "written_per_s", result->bytes_written,
		  result->elapsed_ns);
	json_end(json);
	json_object(json, "latency_ns");
	for (int op = 0; op < OPS; op++)
		latency_json(json, op_names[op], &result->latency[op]);
	json_end(json);
}

/* How evenly blocks were erased; stddev is the population's, not a sample's. */
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

static void json_blocks(struct json *json, const struct result *result)
{
	const struct flash_blocks *blocks = &result->blocks;

	if (result->flash && result->blocks_known) {
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
}

/* The chip's geometry, as the chip reports it. */
static void json_chip(struct json *json, const struct result *result)
{
	if (!result->flash) {
		json_null(json, "chip");
		return;
	}
	json_object(json, "chip");
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
		if (state->split) {
			json_real(json, "valid", state->valid);
			json_real(json, "invalid", state->invalid);
		} else {
			json_null(json, "valid");
			json_null(json, "invalid");
		}
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
	json_load(&json, result);
	json_blocks(&json, result);
	json_chip(&json, result);
	json_state(&json, config, &result->state);
	warnings_json(&json, "warnings", &result->warnings);
	json_end(&json);
	return json_finish(&json);
}
