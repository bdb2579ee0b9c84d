// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * FFSMark: Postmark's load of many small files, for file systems on raw flash.
 *
 * Measures the time of creation, transactions and deletion, each apart from
 * the sync that ends it; the latency of every create, read, append and delete;
 * what the flash chip did meanwhile and how evenly it wore; all from a chosen
 * initial state of the flash. See docs/ffsmark.md for what each figure means.
 *
 * How: after Postmark 1.5 (the same operations for the same configuration and
 * seed) and Olivier and Boukhobza's FFSMark of 2015.
 *
 * Needs only a directory on the file system to measure. Flash figures and a
 * verified initial state need a chip's statistics; emptying the page cache
 * needs root.
 *
 * Costs two clock readings and 8 bytes of memory an operation, a 64 KiB pool
 * of data, and a table of 48 bytes per initial file.
 */
#include <stdlib.h>

#include "diag.h"
#include "language.h"
#include "options.h"
#include "pagecache.h"

static int take_json(void *context, const char *value)
{
	struct session *session = context;

	(void)value;
	session->json = true;
	session->people = stderr;
	return 0;
}

/* Acted on before the commands, so they may change it. */
static int take_flash(void *context, const char *value)
{
	struct session *session = context;
	char *line = text("set flash %s", value);
	int error = language_line(session, line, "--flash", 0);

	free(line);
	return error;
}

static int take_drop_file(void *context, const char *value)
{
	struct session *session = context;

	session->drop_control = value;
	return 0;
}

/* Sources of commands, kept until all options are known. */
struct source {
	const char *text;
	bool command; /* else a file */
};

struct invocation {
	struct session session; /* first: options see only this part */
	struct source *sources;
	size_t count;
};

static int take_command(void *context, const char *value)
{
	struct invocation *invocation = context;

	invocation->sources[invocation->count++] = (struct source){value, true};
	return 0;
}

static int take_file(void *context, const char *value)
{
	struct invocation *invocation = context;

	invocation->sources[invocation->count++] =
		(struct source){value, false};
	return 0;
}

static const struct option_decl options[] = {
	{"json", NULL, "one JSON line per run on stdout, reports on stderr",
	 take_json},
	{"flash", "DIR|auto|none", "as the command 'set flash'", take_flash},
	{"command", "COMMAND", "act on this command", take_command},
	{"drop-file", "FILE",
	 "drop caches through FILE (" PAGECACHE_CONTROL ")", take_drop_file},
	{NULL, "FILE", "act on its commands; - or no FILE: stdin", take_file},
};

static int act_on_sources(struct invocation *invocation)
{
	struct session *session = &invocation->session;

	if (!invocation->count)
		return language_file(session, "-");
	for (size_t i = 0; i < invocation->count && !session->quit; i++) {
		const struct source *source = &invocation->sources[i];

		if (source->command ? language_line(session, source->text,
						    "--command", 0)
				    : language_file(session, source->text))
			return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct invocation invocation = {
		.session = {.people = stdout,
			    .drop_control = PAGECACHE_CONTROL},
	};
	struct session *session = &invocation.session;
	bool helped;

	diag_program = "ffsmark";
	config_open(&session->config);
	invocation.sources = allocate((unsigned long long)argc,
				      sizeof(struct source), "the arguments");
	if (options_walk(options, sizeof(options) / sizeof(*options), argv + 1,
			 &invocation,
			 "[--json] [--flash DIR] [--command COMMAND]... "
			 "[FILE]...",
			 "Benchmark a file system for flash with many small "
			 "files, as Postmark does.",
			 &helped)) {
		if (!helped)
			session->status = EXIT_USAGE;
	} else if (!act_on_sources(&invocation) && session->json &&
		   !session->ran) {
		fail("nothing was run, so there is no result: the commands "
		     "never said 'run'");
		session->status = EXIT_USAGE;
	}
	config_close(&session->config);
	free(invocation.sources);
	return session->status;
}
