// SPDX-License-Identifier: GPL-2.0-or-later
/* The settings of FFSMark, declared; see config.h. */
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "diag.h"
#include "json.h"
#include "locations.h"
#include "payload.h"
#include "settings.h"

/*
 * Sizes and numbers stop where Postmark's do: its generator draws 32 bits, and
 * a slot is drawn from twice the number of files.
 */
#define MOST 2147483647.0

static char *size_parse(void *config, const char *value);
static void size_print(FILE *out, const struct setting *setting,
		       const void *config);
static void size_emit(struct json *json, const void *config);

static const char *const fill_of_names[] = {"chip", "free", NULL};
static const char *const report_names[] = {"verbose", "terse", NULL};

#define AT(field) .offset = offsetof(struct config, field)
#define COUNT(words, key, low, field, help)           \
	{words,		"N",	   help,	 key, \
	 SETTING_COUNT, AT(field), .min = (low), .max = MOST}
#define BIAS(words, key, field, help)            \
	{words,	      "-1..10",	 help,	    key, \
	 SETTING_INT, AT(field), .min = -1, .max = 10}
#define FLAG(words, key, field, help) \
	{words, "true|false", help, key, SETTING_BOOL, AT(field)}
#define SHARE(words, key, field, help) \
	{words, "0..1", help, key, SETTING_SHARE, AT(field), .max = 1}
#define PERCENT(words, key, field, help) \
	{words, "PERCENT", help, key, SETTING_PERCENT, AT(field), .max = 100}

static const struct setting settings[] = {
	{"size", "LOW [HIGH]",
	 "bytes of a new file: LOW to HIGH-1, or exactly LOW",
	 .kind = SETTING_OWN, .parse = size_parse, .print = size_print,
	 .emit = size_emit},
	COUNT("number", "number", 1, number,
	      "files created at first; at most twice as many exist at a time"),
	COUNT("seed", "seed", 0, seed, "seed of the choices and of the data"),
	COUNT("transactions", "transactions", 0, transactions,
	      "transactions: each a read or append, then a create or delete"),
	{"location", "[+|-]DIR [WEIGHT]",
	 "directory to work in; + adds one, - takes one off",
	 .kind = SETTING_OWN, .parse = locations_parse,
	 .print = locations_print, .emit = locations_emit},
	COUNT("subdirectories", "subdirectories", 0, subdirectories,
	      "subdirectories of each location; below 2, none"),
	COUNT("read", "read_bytes", 1, read_block, "bytes of each read"),
	COUNT("write", "write_bytes", 1, write_block, "bytes of each write"),
	FLAG("buffering", "buffering", buffering,
	     "go through C library buffers, not straight to the kernel"),
	BIAS("bias read", "bias_read", bias_read,
	     "times in 10 that a read is chosen over an append; -1: neither"),
	BIAS("bias create", "bias_create", bias_create,
	     "times in 10 that a create is chosen over a delete; -1: neither"),
	{"report", "verbose|terse", "form of the report for people", "report",
	 SETTING_CHOICE, AT(report), .choices = report_names},
	FLAG("drop creation", "drop_creation", drop_creation,
	     "empty the page cache before the creation (root)"),
	FLAG("drop transactions", "drop_transactions", drop_transactions,
	     "empty the page cache before the transactions (root)"),
	FLAG("sync", "sync", sync,
	     "sync at the end of creation, transactions and deletion"),
	PERCENT("fill creation valid", "fill_valid", fill_valid,
		"share to fill with valid data first"),
	PERCENT("fill creation invalid", "fill_invalid", fill_invalid,
		"share to fill with data then deleted"),
	{"fill of", "chip|free",
	 "shares are of the chip's pages, or of statvfs's free bytes",
	 "fill_of", SETTING_CHOICE, AT(fill_of), .choices = fill_of_names},
	SHARE("fill mix", "fill_mix", fill_mix,
	      "share of both to interleave; 0: whole blocks of one kind"),
	{"fill chunk", "BYTES", "bytes of a kind in a row when interleaving",
	 "fill_chunk_bytes", SETTING_COUNT, AT(fill_chunk), .min = 512,
	 .max = 1 << 20},
	FLAG("fill keep", "fill_keep", fill_keep,
	     "leave the valid data in place after the run"),
	{"payload", "random|postmark",
	 "bytes of the files: of all 256 values, or Postmark's 32 to 126",
	 "payload", SETTING_CHOICE, AT(payload), .choices = payload_names},
	SHARE("compressibility", "compressibility", compressibility,
	      "share of all data written that compresses away"),
	{"flash", "DIR|auto|none", "directory of the chip's statistics",
	 "flash", SETTING_TEXT, AT(flash)},
};

#define SETTINGS (sizeof(settings) / sizeof(*settings))

void config_open(struct config *config)
{
	*config = (struct config){
		.number = 500,
		.transactions = 500,
		.size_low = 500,
		.size_high = 10000,
		.seed = 42,
		.read_block = 512,
		.write_block = 512,
		.bias_read = 5,
		.bias_create = 5,
		.buffering = true,
		.sync = true,
		.fill_chunk = 4096,
		.flash = text(FLASH_AUTO),
	};
}

void config_close(struct config *config)
{
	locations_clear(config);
	free(config->flash);
}

/* Two settings may each be valid but not together. */
static char *check_pairs(const struct config *config)
{
	if (config->fill_valid + config->fill_invalid >= 1)
		return text("valid %g %% and invalid %g %% leave no free "
			    "space: their sum must stay below 100",
			    config->fill_valid * 100,
			    config->fill_invalid * 100);
	return NULL;
}

char *config_set(struct config *config, const char *assignment)
{
	double valid = config->fill_valid, invalid = config->fill_invalid;
	char *wrong = settings_apply(settings, SETTINGS, config, assignment);

	if (wrong)
		return wrong;
	wrong = check_pairs(config);
	if (wrong) {
		config->fill_valid = valid;
		config->fill_invalid = invalid;
	}
	return wrong;
}

void config_print(const struct config *config, FILE *out)
{
	settings_print(settings, SETTINGS, config, out);
}

void config_json(struct json *json, const struct config *config)
{
	json_object(json, "config");
	settings_json(settings, SETTINGS, config, json);
	json_end(json);
}

int config_help(FILE *out, const char *prefix)
{
	int found = 0;

	for (size_t i = 0; i < SETTINGS; i++) {
		char *name = text("set %s", settings[i].words);

		if (!strncmp(name, prefix, strlen(prefix))) {
			fprintf(out, "%s %s - %s\n", name, settings[i].usage,
				settings[i].help);
			found++;
		}
		free(name);
	}
	return found;
}

static char *size_parse(void *context, const char *value)
{
	struct config *config = context;
	size_t length = strcspn(value, " \t");
	const char *second = value + length + strspn(value + length, " \t");
	char *first = text("%.*s", (int)length, value);
	unsigned long long low, high;
	char *wrong = parse_count(first, 1, MOST, &low);

	free(first);
	high = low;
	if (!wrong && *second)
		wrong = parse_count(second, 1, MOST, &high);
	if (!wrong && high < low)
		wrong = text("the high bound %llu is below the low one, %llu",
			     high, low);
	if (wrong)
		return wrong;
	config->size_low = low;
	config->size_high = high;
	return NULL;
}

static void size_print(FILE *out, const struct setting *setting,
		       const void *context)
{
	const struct config *config = context;

	fprintf(out, "set %s %llu %llu\n", setting->words,
		(unsigned long long)config->size_low,
		(unsigned long long)config->size_high);
}

static void size_emit(struct json *json, const void *context)
{
	const struct config *config = context;

	json_count(json, "size_low_bytes", config->size_low);
	json_count(json, "size_high_bytes", config->size_high);
}
