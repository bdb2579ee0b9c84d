/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program's settings, declared in one table from which come the parser, the
 * help, the listing and the JSON form. A setting is added by one line there.
 */
#ifndef LIB_SETTINGS_H
#define LIB_SETTINGS_H

#include <stddef.h>
#include <stdio.h>

struct json;

enum setting_kind {
	SETTING_COUNT,	 /* uint64_t, in min..max */
	SETTING_INT,	 /* int64_t, in min..max */
	SETTING_BOOL,	 /* bool, written "true" or "false" */
	SETTING_SHARE,	 /* double 0..1, written so */
	SETTING_PERCENT, /* double 0..1, written in percent */
	SETTING_CHOICE,	 /* int, the position in @choices */
	SETTING_TEXT,	 /* char * of the setting's own, never empty */
	SETTING_OWN,	 /* whatever parse(), print() and emit() make of it */
};

struct setting {
	const char *words; /* its name, as "bias read"; blanks separate */
	const char *usage; /* its value, for the help: "N", "true|false" */
	const char *help;  /* one sentence: unit, special values, effect */
	const char *key;   /* its name in JSON; unused for SETTING_OWN */
	enum setting_kind kind;
	size_t offset;		    /* of its field in the configuration */
	double min, max;	    /* accepted, as the user writes it */
	const char *const *choices; /* ended by NULL */
	char *(*parse)(void *config, const char *value);
	void (*print)(FILE *out, const struct setting *setting,
		      const void *config);
	void (*emit)(struct json *json, const void *config);
};

/*
 * Where the value starts if @line begins with these @words, NULL if not. Words
 * are matched whole; any number of blanks may separate them.
 */
const char *words_match(const char *line, const char *words);

/*
 * Give one setting its value from @line ("bias read 5"). NULL, or what is
 * wrong and what to do, for the caller to free. The configuration is left as it
 * was when something is wrong.
 */
char *settings_apply(const struct setting *table, size_t count, void *config,
		     const char *line);

/* The commands that would give these settings, one a line. */
void settings_print(const struct setting *table, size_t count,
		    const void *config, FILE *out);
void settings_json(const struct setting *table, size_t count,
		   const void *config, struct json *json);

/* Parse all of @value as a whole number in min..max. NULL, or what is wrong. */
char *parse_count(const char *value, double min, double max,
		  unsigned long long *count);

#endif
