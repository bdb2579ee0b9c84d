// SPDX-License-Identifier: GPL-2.0-or-later
/* Commands of a program; see commands.h. */
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "diag.h"

/* "make, list and find", say, for the caller to free. */
static char *list(const struct command_decl *table, size_t count,
		  const char *conjunction)
{
	char *all = text("%s", table[0].name);

	for (size_t i = 1; i < count; i++) {
		char *before = all;

		all = i + 1 < count ? text("%s, %s", before, table[i].name)
				    : text("%s %s %s", before, conjunction,
					   table[i].name);
		free(before);
	}
	return all;
}

int commands_find(const struct command_decl *table, size_t count,
		  const char *name)
{
	char *all;

	for (size_t i = 0; name && i < count; i++)
		if (!strcmp(table[i].name, name))
			return (int)i;
	all = list(table, count, name ? "and" : "or");
	if (name)
		fail("unknown command '%s'; there are %s; see --help", name,
		     all);
	else
		fail("a command is missing: %s; see --help", all);
	free(all);
	return -1;
}

int commands_check(const struct command_decl *command,
		   const struct command_line *line,
		   const char *const *option_names, size_t options)
{
	size_t words = command->second ? 3 : 2;

	if (line->words < words)
		return fail("%s needs %s%s%s; see --help", command->name,
			    command->place, words > 2 ? " and " : "",
			    words > 2 ? command->second : "");
	if (line->words > words)
		return fail("%s: '%s' is one argument too many; see --help",
			    command->name, line->last);
	for (size_t i = 0; i < options; i++) {
		unsigned int option = 1u << i;

		if (command->needs & option & ~line->given)
			return fail("%s needs --%s; see --help", command->name,
				    option_names[i]);
		if (option & line->given & ~(command->needs | command->takes))
			return fail("--%s is not of %s; see --help",
				    option_names[i], command->name);
	}
	return 0;
}
