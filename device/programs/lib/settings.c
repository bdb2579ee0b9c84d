// SPDX-License-Identifier: GPL-2.0-or-later
/* Declared settings; see settings.h. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "diag.h"
#include "json.h"
#include "settings.h"

static bool blank(char c)
{
	return c == ' ' || c == '\t';
}

const char *words_match(const char *line, const char *words)
{
	for (; *words; words++) {
		if (*words != ' ') {
			if (*line++ != *words)
				return NULL;
			continue;
		}
		if (!blank(*line))
			return NULL;
		line += strspn(line, " \t");
	}
	if (*line && !blank(*line))
		return NULL;
	return line + strspn(line, " \t");
}

char *parse_count(const char *value, double min, double max,
		  unsigned long long *count)
{
	char *end;

	errno = 0;
	*count = strtoull(value, &end, 10);
	if (*value < '0' || *value > '9' || *end)
		return text("'%s' is not a whole number", value);
	if (errno || (double)*count < min || (double)*count > max)
		return text("%s is out of range: give %.0f to %.0f", value, min,
			    max);
	return NULL;
}

static char *parse_int(const struct setting *setting, const char *value,
		       int64_t *field)
{
	long long number;
	char *end;

	errno = 0;
	number = strtoll(value, &end, 10);
	if (end == value || *end)
		return text("'%s' is not a whole number", value);
	if (errno || (double)number < setting->min ||
	    (double)number > setting->max)
		return text("%s is out of range: give %.0f to %.0f", value,
			    setting->min, setting->max);
	*field = number;
	return NULL;
}

static char *parse_real(const struct setting *setting, const char *value,
			double *field)
{
	double unit = setting->kind == SETTING_PERCENT ? 100 : 1;
	double number;
	char *end;

	number = strtod(value, &end);
	if (end == value || *end || !isfinite(number))
		return text("'%s' is not a number", value);
	if (number < setting->min || number > setting->max)
		return text("%s is out of range: give %g to %g", value,
			    setting->min, setting->max);
	*field = number / unit;
	return NULL;
}

static char *parse_bool(const char *value, bool *field)
{
	if (strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
		return text("'%s' is neither 'true' nor 'false'", value);
	*field = *value == 't';
	return NULL;
}

static char *parse_choice(const struct setting *setting, const char *value,
			  int *field)
{
	for (int i = 0; setting->choices[i]; i++) {
		if (strcmp(setting->choices[i], value) != 0)
			continue;
		*field = i;
		return NULL;
	}
	return text("'%s' is none of %s", value, setting->usage);
}

static char *parse_value(const struct setting *setting, void *config,
			 const char *value)
{
	void *field = (char *)config + setting->offset;
	unsigned long long count;
	char *wrong = NULL;

	if (!*value)
		return text("a value is missing");
	switch (setting->kind) {
	case SETTING_COUNT:
		wrong = parse_count(value, setting->min, setting->max, &count);
		if (!wrong)
			*(uint64_t *)field = count;
		return wrong;
	case SETTING_INT:
		return parse_int(setting, value, field);
	case SETTING_BOOL:
		return parse_bool(value, field);
	case SETTING_SHARE:
	case SETTING_PERCENT:
		return parse_real(setting, value, field);
	case SETTING_CHOICE:
		return parse_choice(setting, value, field);
	case SETTING_TEXT:
		free(*(char **)field);
		*(char **)field = text("%s", value);
		return NULL;
	case SETTING_OWN:
		return setting->parse(config, value);
	}
	return text("setting of no known kind");
}

char *settings_apply(const struct setting *table, size_t count, void *config,
		     const char *line)
{
	for (size_t i = 0; i < count; i++) {
		const char *value = words_match(line, table[i].words);
		char *wrong, *whole;

		if (!value)
			continue;
		wrong = parse_value(&table[i], config, value);
		if (!wrong)
			return NULL;
		whole = text("%s; expected 'set %s %s'", wrong, table[i].words,
			     table[i].usage);
		free(wrong);
		return whole;
	}
	return text("no such setting: '%s'; 'help' lists them", line);
}

static void print_value(const struct setting *setting, const void *field,
			FILE *out)
{
	switch (setting->kind) {
	case SETTING_COUNT:
		fprintf(out, "%" PRIu64, *(const uint64_t *)field);
		break;
	case SETTING_INT:
		fprintf(out, "%" PRId64, *(const int64_t *)field);
		break;
	case SETTING_BOOL:
		fputs(*(const bool *)field ? "true" : "false", out);
		break;
	case SETTING_SHARE:
		fprintf(out, "%.9g", *(const double *)field);
		break;
	case SETTING_PERCENT:
		fprintf(out, "%.9g", *(const double *)field * 100);
		break;
	case SETTING_CHOICE:
		fputs(setting->choices[*(const int *)field], out);
		break;
	case SETTING_TEXT:
		fputs(*(char *const *)field, out);
		break;
	case SETTING_OWN:
		break;
	}
}

void settings_print(const struct setting *table, size_t count,
		    const void *config, FILE *out)
{
	for (size_t i = 0; i < count; i++) {
		if (table[i].kind == SETTING_OWN) {
			table[i].print(out, &table[i], config);
			continue;
		}
		fprintf(out, "set %s ", table[i].words);
		print_value(&table[i], (const char *)config + table[i].offset,
			    out);
		fputc('\n', out);
	}
}

static void emit_value(const struct setting *setting, const void *field,
		       struct json *json)
{
	switch (setting->kind) {
	case SETTING_COUNT:
		json_count(json, setting->key, *(const uint64_t *)field);
		break;
	case SETTING_INT:
		json_signed(json, setting->key, *(const int64_t *)field);
		break;
	case SETTING_BOOL:
		json_bool(json, setting->key, *(const bool *)field);
		break;
	case SETTING_SHARE:
	case SETTING_PERCENT:
		json_real(json, setting->key, *(const double *)field);
		break;
	case SETTING_CHOICE:
		json_text(json, setting->key,
			  setting->choices[*(const int *)field]);
		break;
	case SETTING_TEXT:
		json_text(json, setting->key, *(char *const *)field);
		break;
	case SETTING_OWN:
		break;
	}
}

void settings_json(const struct setting *table, size_t count,
		   const void *config, struct json *json)
{
	for (size_t i = 0; i < count; i++) {
		if (table[i].kind == SETTING_OWN)
			table[i].emit(json, config);
		else
			emit_value(&table[i],
				   (const char *)config + table[i].offset,
				   json);
	}
}
