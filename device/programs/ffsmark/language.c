// SPDX-License-Identifier: GPL-2.0-or-later
/* The command language; see language.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "diag.h"
#include "interrupt.h"
#include "language.h"
#include "report.h"
#include "run.h"
#include "settings.h"

/* Limit for a file that loads itself. */
#define DEEPEST 16

struct command {
	const char *words;
	const char *usage;
	const char *help;
	/* NULL, or what is wrong, for the caller to free. */
	char *(*act)(struct session *session, const char *value);
};

static char *act_set(struct session *session, const char *value);
static char *act_run(struct session *session, const char *value);
static char *act_load(struct session *session, const char *value);
static char *act_show(struct session *session, const char *value);
static char *act_help(struct session *session, const char *value);
static char *act_quit(struct session *session, const char *value);

static const struct command commands[] = {
	{"set", "NAME VALUE", "give a setting its value", act_set},
	{"run", "[FILE]", "run the benchmark; append the report to FILE",
	 act_run},
	{"load", "FILE", "act on the commands in a file", act_load},
	{"show", "[FILE]", "print the settings as commands", act_show},
	{"help", "[COMMAND]", "list the commands", act_help},
	{"?", "", "the same", act_help},
	{"quit", "", "end, and ignore what follows", act_quit},
	{"exit", "", "the same", act_quit},
};

#define COMMANDS (sizeof(commands) / sizeof(*commands))

static char *act_set(struct session *session, const char *value)
{
	return config_set(&session->config, value);
}

/* Where a report goes: appended to the named file, or else to people. */
static FILE *open_output(struct session *session, const char *path)
{
	return *path ? fopen(path, "ae") : session->people;
}

static char *close_output(struct session *session, FILE *out, const char *path)
{
	if (out == session->people ? fflush(out) : fclose(out))
		return text("cannot write '%s': %s", *path ? path : "report",
			    strerror(errno));
	return NULL;
}

static char *act_run(struct session *session, const char *value)
{
	struct result result = {0};
	char *wrong = NULL;
	FILE *out = open_output(session, value);

	if (!out)
		return text("cannot open '%s': %s", value, strerror(errno));
	session->ran = true;
	if (run_benchmark(&session->config, session->drop_control,
			  session->people, &result)) {
		session->status = interrupted ? EXIT_BY_SIGNAL + interrupted
					      : EXIT_RUN_FAILED;
	} else {
		report_people(out, &session->config, &result);
		if (session->json &&
		    report_json(stdout, &session->config, &result))
			session->status = EXIT_RUN_FAILED;
	}
	result_close(&result);
	wrong = close_output(session, out, value);
	return wrong;
}

static char *act_load(struct session *session, const char *value)
{
	if (!*value)
		return text("the file's name is missing; expected 'load FILE'");
	if (session->depth >= DEEPEST)
		return text("files are loaded %d deep: does '%s' load itself?",
			    DEEPEST, value);
	language_file(session, value);
	return NULL;
}

static char *act_show(struct session *session, const char *value)
{
	FILE *out = open_output(session, value);

	if (!out)
		return text("cannot open '%s': %s", value, strerror(errno));
	fputs("# Current configuration is:\n", out);
	config_print(&session->config, out);
	return close_output(session, out, value);
}

static int list_commands(FILE *out, const char *prefix)
{
	int found = config_help(out, prefix);

	for (size_t i = 0; i < COMMANDS; i++) {
		if (strncmp(commands[i].words, prefix, strlen(prefix)) != 0)
			continue;
		fprintf(out, "%s %s - %s\n", commands[i].words,
			commands[i].usage, commands[i].help);
		found++;
	}
	return found;
}

static char *act_help(struct session *session, const char *value)
{
	if (!list_commands(session->people, value))
		list_commands(session->people, "");
	return NULL;
}

static char *act_quit(struct session *session, const char *value)
{
	if (*value)
		return text("'quit' takes no value");
	session->quit = true;
	return NULL;
}

static char *act(struct session *session, const char *line)
{
	for (size_t i = 0; i < COMMANDS; i++) {
		const char *value = words_match(line, commands[i].words);

		if (value)
			return commands[i].act(session, value);
	}
	return text("unknown command '%s'; 'help' lists the commands", line);
}

/* The line without the blanks around it, for the caller to free. */
static char *trimmed(const char *line)
{
	size_t start = strspn(line, " \t\r\n");
	size_t end = strlen(line);

	while (end > start && strchr(" \t\r\n", line[end - 1]))
		end--;
	return text("%.*s", (int)(end - start), line + start);
}

int language_line(struct session *session, const char *line, const char *source,
		  unsigned long number)
{
	char *command = trimmed(line);
	char *wrong = NULL;

	if (*command && *command != '#')
		wrong = act(session, command);
	free(command);
	if (wrong) {
		session->status = EXIT_USAGE;
		if (number)
			fail("%s:%lu: %s", source, number, wrong);
		else
			fail("%s: %s", source, wrong);
		free(wrong);
	}
	return session->status ? -1 : 0;
}

static int each_line(struct session *session, FILE *file, const char *source)
{
	bool prompt = file == stdin && isatty(STDIN_FILENO);
	unsigned long number = 0;
	char *line = NULL;
	size_t room = 0;
	int error = 0;

	while (!error && !session->quit) {
		if (prompt) {
			fputs("ffsmark> ", session->people);
			fflush(session->people);
		}
		if (getline(&line, &room, file) < 0)
			break;
		error = language_line(session, line, source, ++number);
		/* At a terminal, do not end the session on a typing error. */
		if (prompt && session->status == EXIT_USAGE)
			error = session->status = 0;
	}
	free(line);
	if (ferror(file)) {
		session->status = EXIT_USAGE;
		error = fail_errno("read", source);
	}
	return error;
}

int language_file(struct session *session, const char *path)
{
	bool input = !strcmp(path, "-");
	FILE *file = input ? stdin : fopen(path, "re");
	int error;

	if (!file) {
		session->status = EXIT_USAGE;
		return fail_errno("open the commands", path);
	}
	session->depth++;
	error = each_line(session, file, input ? "stdin" : path);
	session->depth--;
	if (!input)
		fclose(file);
	return error;
}
