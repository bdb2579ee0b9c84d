// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lifetime: wears a chip with rounds of one load until the load fails.
 *
 * Each round runs a shell command. The environment variable ROUND has the
 * round's number, from 1. The command prints a line of JSON whose "written" is
 * the bytes that it wrote, as ffsmark does. After each round lifetime reads the
 * chip's counters, the number of its worn-out blocks and the erases of each
 * block. The first round that fails ends the chip's life; its first error
 * message on stderr is the reason. At the end lifetime reads the chip once
 * more: most blocks die in the round that fails. How many bytes that round
 * wrote is not known.
 *
 * With --until steady it ends once the wear is steady, so that what the chip
 * does for a byte is what it would go on doing; is_steady() says when.
 *
 * Needs the chip's statistics. Costs one read of them per round.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "checked.h"
#include "clock.h"
#include "diag.h"
#include "flashstat.h"
#include "json.h"
#include "options.h"
#include "takes.h"

#define ERRORS	   "lifetime.stderr"
#define WRITTEN	   "\"written\":"
#define MAX_ROUNDS 1000000ull
#define TENTHS	   10

/* As nandlab.analysis.verdicts.wearsteadiness has them, which says why. */
#define FEW	       3
#define RATE_TOLERANCE 10 /* percent */

struct request {
	const char *flash;
	const char *command;
	uint64_t rounds;
	int until_steady;
};

struct round {
	uint64_t t_ns;
	uint64_t bytes_written;
	struct flash_counters counters;
	uint64_t wear[TENTHS + 1]; /* erases that i tenths of the blocks have
				      at most; 0: the least erased block */
};

struct life {
	struct round *rounds;
	uint64_t count;
	struct round end; /* counters with the failed round's, bytes without */
	char *gave_up;	  /* NULL while the load goes on */
	bool steady;	  /* it was to end when steady, and did */
	struct flash_counters before;
	uint64_t began_ns;
};

TAKE_TEXT(flash)
TAKE_COUNT(rounds, "rounds", 1, MAX_ROUNDS)

static const char *const ends[] = {"death", "steady", NULL};

static int on_until(void *context, const char *value)
{
	return take_choice(&((struct request *)context)->until_steady, "until",
			   value, ends);
}

TAKE_TEXT(command)

static const struct option_decl options[] = {
	{"rounds", "N", "rounds at the most (1000000)", on_rounds},
	{"until", "WHEN", "death of the file system, or steady wear (death)",
	 on_until},
	{"flash", "DIR", "the chip's statistics (" FLASHSTAT_DIRECTORY ")",
	 on_flash},
	{"round", "COMMAND", "what a round runs; $ROUND is its number",
	 on_command},
};

/* Bytes that the round's line of JSON says it wrote; COUNT_MISSING if none. */
static uint64_t written_by(const char *output)
{
	const char *at = strstr(output, WRITTEN);

	return at ? strtoull(at + strlen(WRITTEN), NULL, 10) : COUNT_MISSING;
}

/* The first error message in a file: a line "who: what", unlike progress. */
static char *complaint_in(const char *path)
{
	char *said = slurp(path);
	char *rest = said;
	char *found = NULL;
	char *line;

	while (!found && (line = strsep(&rest, "\n")))
		if (strstr(line, ": "))
			found = text("%s", line);
	free(said);
	return found ? found : text("the load failed and did not say why");
}

/* Runs a round: 0 and its bytes, 1 and life->gave_up if it failed, or -1. */
static int run_round(const struct request *request, struct life *life,
		     uint64_t *bytes)
{
	char *command = text("{ %s; } 2>" ERRORS, request->command);
	char number[24];
	char *line = NULL;
	size_t room = 0;
	FILE *output;
	int status;

	snprintf(number, sizeof(number), "%llu",
		 (unsigned long long)life->count + 1);
	setenv("ROUND", number, 1);
	output = popen(command, "r");
	free(command);
	if (!output)
		return fail_errno("run", request->command);
	*bytes = COUNT_MISSING;
	while (getline(&line, &room, output) > 0)
		if (written_by(line) != COUNT_MISSING)
			*bytes = written_by(line);
	free(line);
	status = pclose(output);
	if (status) {
		life->gave_up = complaint_in(ERRORS);
		return 1;
	}
	if (*bytes == COUNT_MISSING)
		return fail("a round printed no " WRITTEN);
	return 0;
}

static int ascending(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a;
	uint64_t right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

/* How far the blocks are worn, from the least erased one to the most. */
static int look_at_blocks(const struct request *request, struct round *round)
{
	struct flash_blocks blocks;

	if (flash_read_blocks(request->flash, &blocks))
		return fail_errno("read the chip's blocks in", request->flash);
	qsort(blocks.erases, blocks.count, sizeof(*blocks.erases), ascending);
	for (uint64_t i = 0; i <= TENTHS; i++)
		round->wear[i] = blocks.erases[(blocks.count - 1) * i / TENTHS];
	flash_free_blocks(&blocks);
	return 0;
}

/* Reads the clock, the chip's counters and its blocks. */
static int look(const struct request *request, const struct life *life,
		struct round *round)
{
	round->t_ns = now_ns() - life->began_ns;
	if (flash_read_counters(request->flash, &round->counters))
		return fail_errno("read the chip's statistics in",
				  request->flash);
	return look_at_blocks(request, round);
}

/* The last round by which at most @bytes were written; life has a round. */
static const struct round *round_at(const struct life *life, uint64_t bytes)
{
	uint64_t i = life->count - 1;

	while (i && life->rounds[i].bytes_written > bytes)
		i--;
	return &life->rounds[i];
}

/* Erases for a byte between two rounds. */
static double rate(const struct round *from, const struct round *to)
{
	uint64_t erases =
		flash_delta(to->counters.erases, from->counters.erases);
	uint64_t bytes = to->bytes_written - from->bytes_written;

	return bytes ? (double)erases / (double)bytes : 0;
}

/*
 * Whether nothing new is to be expected: the blocks were erased FEW times on
 * average since the first round began, and over the last half of the bytes the
 * erases for a byte did not change: its two halves differ by RATE_TOLERANCE
 * percent at most.
 */
static bool is_steady(const struct life *life)
{
	const struct round *last = &life->rounds[life->count - 1];
	const struct round *half = round_at(life, last->bytes_written / 2);
	const struct round *later = round_at(life, last->bytes_written / 4 * 3);
	double before = rate(half, later);
	double after = rate(later, last);
	double apart = before > after ? before - after : after - before;

	if (half == later || later == last ||
	    flash_delta(last->counters.erases, life->before.erases) <
		    FEW * last->counters.blocks)
		return false;
	return apart * 100 <= RATE_TOLERANCE * (before + after) / 2;
}

static int live(const struct request *request, struct life *life)
{
	uint64_t bytes = 0;

	if (flash_read_counters(request->flash, &life->before))
		return fail_errno("read the chip's statistics in",
				  request->flash);
	life->began_ns = now_ns();
	life->rounds =
		allocate(request->rounds, sizeof(*life->rounds), "the rounds");
	while (life->count < request->rounds) {
		struct round *round = &life->rounds[life->count];
		int ended = run_round(request, life, &bytes);

		if (ended < 0)
			return -1;
		if (ended)
			break;
		life->end.bytes_written += bytes;
		round->bytes_written = life->end.bytes_written;
		if (look(request, life, round))
			return -1;
		life->count++;
		if (request->until_steady && is_steady(life)) {
			life->steady = true;
			break;
		}
	}
	return look(request, life, &life->end);
}

static void print_blocks(struct json *json, const char *key,
			 const uint64_t *values, uint64_t count)
{
	json_array(json, key);
	for (uint64_t i = 0; i < count; i++)
		json_count(json, NULL, values[i]);
	json_end(json);
}

/* Totals over the rounds, with their names and units in the result. */
static const struct total {
	const char *name;
	const char *unit;
} totals[] = {
	{"bytes_written", "bytes"},
	{"programs", "count"},
	{"erases", "count"},
	{"dead_blocks", "count"},
};

static uint64_t total_at(const struct life *life, const struct round *round,
			 size_t total)
{
	const struct flash_counters *now = &round->counters;

	switch (total) {
	case 0:
		return round->bytes_written;
	case 1:
		return flash_delta(now->programs, life->before.programs);
	case 2:
		return flash_delta(now->erases, life->before.erases);
	default:
		return now->worn_out;
	}
}

/* What was read at moment @i of a series: after each round, and at the end. */
static const struct round *moment(const struct life *life, uint64_t i)
{
	return i < life->count ? &life->rounds[i] : &life->end;
}

/* Begins a series with its times; its values are to follow. */
static void begin_series(struct json *json, const struct life *life,
			 const char *name, const char *unit)
{
	json_object(json, NULL);
	json_text(json, "name", name);
	json_text(json, "unit", unit);
	json_array(json, "t_ns");
	for (uint64_t i = 0; i <= life->count; i++)
		json_count(json, NULL, moment(life, i)->t_ns);
	json_end(json);
	json_array(json, "values");
}

static void print_total(struct json *json, const struct life *life,
			size_t total)
{
	begin_series(json, life, totals[total].name, totals[total].unit);
	for (uint64_t i = 0; i <= life->count; i++)
		json_count(json, NULL, total_at(life, moment(life, i), total));
	json_end(json);
	json_end(json);
}

/* Erases that @tenths of the blocks have at most: wear_0, wear_10 ... */
static void print_wear(struct json *json, const struct life *life,
		       unsigned int tenths)
{
	char name[16];

	snprintf(name, sizeof(name), "wear_%u", tenths * 100 / TENTHS);
	begin_series(json, life, name, "count");
	for (uint64_t i = 0; i <= life->count; i++)
		json_count(json, NULL, moment(life, i)->wear[tenths]);
	json_end(json);
	json_end(json);
}

static int print_life(const struct request *request, const struct life *life)
{
	struct json json = {.out = stdout};
	struct flash_blocks blocks;

	if (flash_read_blocks(request->flash, &blocks))
		return fail_errno("read the chip's blocks in", request->flash);
	json_object(&json, NULL);
	json_text(&json, "program", "lifetime");
	json_object(&json, "figures");
	json_count(&json, "rounds", life->count);
	json_end(&json);
	json_object(&json, "texts");
	if (life->gave_up)
		json_text(&json, "gave_up", life->gave_up);
	if (life->steady)
		json_text(&json, "ended", "its wear was steady");
	json_end(&json);
	json_bool(&json, "open_ended", !life->gave_up);
	json_array(&json, "series");
	for (size_t i = 0; i < sizeof(totals) / sizeof(*totals); i++)
		print_total(&json, life, i);
	for (unsigned int i = 0; i <= TENTHS; i++)
		print_wear(&json, life, i);
	json_end(&json);
	json_object(&json, "per_block");
	print_blocks(&json, "reads", blocks.reads, blocks.count);
	print_blocks(&json, "programs", blocks.programs, blocks.count);
	print_blocks(&json, "erases", blocks.erases, blocks.count);
	json_end(&json);
	json_end(&json);
	flash_free_blocks(&blocks);
	return json_finish(&json);
}

int main(int argc, char **argv)
{
	struct request request = {
		.flash = FLASHSTAT_DIRECTORY,
		.rounds = MAX_ROUNDS,
	};
	struct life life = {0};
	bool helped;
	int error;

	(void)argc;
	diag_program = "lifetime";
	if (options_walk(options, sizeof(options) / sizeof(*options), argv + 1,
			 &request, "--round COMMAND [OPTION]...",
			 "Wears a chip with rounds of one load until it fails.",
			 &helped))
		return helped ? EXIT_OK : EXIT_USAGE;
	if (!request.command) {
		fail("--round is missing: the command of a round");
		return EXIT_USAGE;
	}
	error = live(&request, &life) || print_life(&request, &life);
	free(life.rounds);
	free(life.gave_up);
	return error ? EXIT_RUN_FAILED : EXIT_OK;
}
