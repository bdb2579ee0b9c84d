// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The report for people. Lines, order and columns are Postmark's, so that
 * programs that read its reports can read these. Times have fractions, since
 * whole seconds are too coarse, and rates are computed from those.
 */
#include <inttypes.h>

#include "json.h"
#include "report.h"

struct times {
	double creation, transactions, deletion, total; /* seconds */
};

static struct times times_of(const struct result *result)
{
	struct times times = {
		.creation = (double)result->phase_ns[PHASE_CREATION] / 1e9,
		.transactions =
			(double)result->phase_ns[PHASE_TRANSACTIONS] / 1e9,
		.deletion = (double)result->phase_ns[PHASE_DELETION] / 1e9,
	};

	times.total = times.creation + times.transactions + times.deletion;
	return times;
}

/* A phase without any operation may be too short for the clock to measure. */
static double rate(double count, double seconds)
{
	return seconds > 0 ? count / seconds : 0;
}

static void print_bytes(FILE *out, double bytes)
{
	if (bytes > 1 << 20)
		fprintf(out, "%.2f megabytes", bytes / (1 << 20));
	else if (bytes > 0)
		fprintf(out, "%.2f kilobytes", bytes / (1 << 10));
	else
		fprintf(out, "%f bytes", bytes);
}

static void print_data(FILE *out, uint64_t bytes, const char *done,
		       double seconds)
{
	fputc('\t', out);
	print_bytes(out, (double)bytes);
	fprintf(out, " %s (", done);
	print_bytes(out, rate((double)bytes, seconds));
	fputs(" per second)\n", out);
}

static void print_count(FILE *out, const char *before, uint64_t count,
			const char *after, double seconds)
{
	fprintf(out, "%s%" PRIu64 " %s (%.0f per second)\n", before, count,
		after, rate((double)count, seconds));
}

static void print_files(FILE *out, const struct result *result,
			const struct times *times)
{
	const uint64_t *create = result->ops[OP_CREATE];
	const uint64_t *erase = result->ops[OP_DELETE];

	fputs("\nFiles:\n", out);
	print_count(out, "\t", result_total(result, OP_CREATE), "created",
		    times->total);
	print_count(out, "\t\tCreation alone: ", create[PHASE_CREATION],
		    "files", times->creation);
	print_count(out,
		    "\t\tMixed with transactions: ", create[PHASE_TRANSACTIONS],
		    "files", times->transactions);
	print_count(out, "\t", result_total(result, OP_READ), "read",
		    times->transactions);
	print_count(out, "\t", result_total(result, OP_APPEND), "appended",
		    times->transactions);
	print_count(out, "\t", result_total(result, OP_DELETE), "deleted",
		    times->total);
	print_count(out, "\t\tDeletion alone: ", erase[PHASE_DELETION], "files",
		    times->deletion);
	print_count(out,
		    "\t\tMixed with transactions: ", erase[PHASE_TRANSACTIONS],
		    "files", times->transactions);
}

static void print_latencies(FILE *out, const struct result *result)
{
	fputs("\nLatency in microseconds: median, p99, max\n", out);
	for (int op = 0; op < OPS; op++) {
		const struct latency *latency = &result->latency[op];

		if (latency->count)
			fprintf(out, "\t%s: %.1f %.1f %.1f\n", op_names[op],
				(double)latency_rank(latency, 500) / 1e3,
				(double)latency_rank(latency, 990) / 1e3,
				(double)latency_rank(latency, 1000) / 1e3);
	}
}

static void print_count_or_dash(FILE *out, uint64_t count, const char *what)
{
	if (count == COUNT_MISSING)
		fprintf(out, " - %s", what);
	else
		fprintf(out, " %" PRIu64 " %s", count, what);
}

static void print_flash(FILE *out, const struct result *result)
{
	if (!result->flash)
		return;
	fputs("\nFlash, each phase with its sync if it has one:\n", out);
	for (int phase = 0; phase < PHASES; phase++) {
		const struct flash_use *use = &result->phase_flash[phase];

		if (phase == PHASE_FILL && !result->filled)
			continue;
		fprintf(out, "\t%s:", phase_names[phase]);
		print_count_or_dash(out, use->reads, "pages read,");
		print_count_or_dash(out, use->programs, "programmed,");
		print_count_or_dash(out, use->erases, "blocks erased\n");
	}
}

static void print_phase(FILE *out, const struct result *result, int phase)
{
	fprintf(out, "\t%.6f seconds of %s",
		(double)result->phase_ns[phase] / 1e9, phase_names[phase]);
	if (result->synced[phase])
		fprintf(out, ", %.6f of its sync",
			(double)result->sync_ns[phase] / 1e9);
	fputc('\n', out);
}

static void print_verbose(FILE *out, const struct result *result,
			  const struct times *times)
{
	fputs("Time:\n", out);
	fprintf(out, "\t%.6f seconds total\n", times->total);
	fprintf(out, "\t%.6f seconds of transactions (%.0f per second)\n",
		times->transactions,
		rate((double)result->transactions, times->transactions));
	for (int phase = 0; phase < PHASES; phase++)
		if (phase != PHASE_FILL || result->filled)
			print_phase(out, result, phase);
	print_files(out, result, times);
	fputs("\nData:\n", out);
	print_data(out, result->bytes_read, "read", times->total);
	print_data(out, result->bytes_written, "written", times->total);
	print_latencies(out, result);
	print_flash(out, result);
}

static void print_terse(FILE *out, const struct result *result,
			const struct times *times)
{
	const uint64_t *create = result->ops[OP_CREATE];
	const uint64_t *erase = result->ops[OP_DELETE];
	const double all = times->total, some = times->transactions;
	const double rates[] = {
		rate((double)result->transactions, some),
		rate((double)result_total(result, OP_CREATE), all),
		rate((double)create[PHASE_CREATION], times->creation),
		rate((double)create[PHASE_TRANSACTIONS], some),
		rate((double)result_total(result, OP_READ), some),
		rate((double)result_total(result, OP_APPEND), some),
		rate((double)result_total(result, OP_DELETE), all),
		rate((double)erase[PHASE_DELETION], times->deletion),
		rate((double)erase[PHASE_TRANSACTIONS], some),
		rate((double)result->bytes_read, all),
		rate((double)result->bytes_written, all),
	};

	fprintf(out, "%.6f %.6f", all, some);
	for (size_t i = 0; i < sizeof(rates) / sizeof(*rates); i++)
		fprintf(out, " %.2f", rates[i]);
	fputc('\n', out);
}

void report_people(FILE *out, const struct config *config,
		   const struct result *result)
{
	struct times times = times_of(result);

	if (config->report == REPORT_TERSE)
		print_terse(out, result, &times);
	else
		print_verbose(out, result, &times);
	fflush(out);
}
