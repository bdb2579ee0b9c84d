// SPDX-License-Identifier: GPL-2.0-or-later
/* Declared command line; see options.h. */
#include <stdio.h>
#include <string.h>

#include "diag.h"
#include "options.h"

static void print_help(const struct option_decl *table, size_t count,
		       const char *synopsis, const char *about)
{
	printf("Usage: %s %s\n%s\n\n", diag_program, synopsis, about);
	for (size_t i = 0; i < count; i++) {
		const char *value = table[i].value ? table[i].value : "";
		int width = printf("  %s%s%s%s", table[i].name ? "--" : "",
				   table[i].name ? table[i].name : "",
				   table[i].name && *value ? " " : "", value);

		printf("%*s%s\n", width < 26 ? 26 - width : 2, "",
		       table[i].help);
	}
	printf("  --help                  print this\n");
}

static const struct option_decl *find(const struct option_decl *table,
				      size_t count, const char *name,
				      size_t length)
{
	for (size_t i = 0; i < count; i++) {
		if (!name && !table[i].name)
			return &table[i];
		if (name && table[i].name && strlen(table[i].name) == length &&
		    !memcmp(table[i].name, name, length))
			return &table[i];
	}
	return NULL;
}

/* Take one option of the command line; move *@argv to its value if that
 * follows. */
static int take_option(const struct option_decl *option, char ***argv,
		       void *context)
{
	const char *given = strchr(**argv, '=');

	if (!option->value && given)
		return fail("--%s takes no value", option->name);
	if (!option->value)
		return option->take(context, NULL);
	if (given)
		return option->take(context, given + 1);
	if (!(*argv)[1])
		return fail("--%s needs a value: %s", option->name,
			    option->value);
	return option->take(context, *++*argv);
}

int options_walk(const struct option_decl *table, size_t count, char **argv,
		 void *context, const char *synopsis, const char *about,
		 bool *helped)
{
	bool only_arguments = false;

	*helped = false;
	for (; *argv; argv++) {
		const struct option_decl *option;
		bool dashed = !strncmp(*argv, "--", 2) && !only_arguments;

		if (dashed && !(*argv)[2]) {
			only_arguments = true;
			continue;
		}
		if (dashed && !strcmp(*argv, "--help")) {
			print_help(table, count, synopsis, about);
			*helped = true;
			return -1;
		}
		option = dashed ? find(table, count, *argv + 2,
				       strcspn(*argv + 2, "="))
				: find(table, count, NULL, 0);
		if (!option ||
		    (!dashed && !only_arguments && **argv == '-' && (*argv)[1]))
			return fail("unknown option '%s'; --help lists them",
				    *argv);
		if (dashed ? take_option(option, &argv, context)
			   : option->take(context, *argv))
			return -1;
	}
	return 0;
}
