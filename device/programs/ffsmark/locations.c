// SPDX-License-Identifier: GPL-2.0-or-later
/* The directories to work in; see locations.h. */
#include <stdlib.h>
#include <string.h>

#include "diag.h"
#include "json.h"
#include "locations.h"

/* The sum of all weights must fit into one 32-bit draw. */
#define WEIGHT_MOST 1000000

size_t config_location_count(const struct config *config)
{
	return config->location_count ? config->location_count : 1;
}

const char *config_location(const struct config *config, size_t i)
{
	return config->location_count ? config->locations[i].path : ".";
}

void locations_clear(struct config *config)
{
	for (size_t i = 0; i < config->location_count; i++)
		free(config->locations[i].path);
	free(config->locations);
	config->locations = NULL;
	config->location_count = 0;
}

static void add(struct config *config, char *path, uint64_t weight)
{
	size_t count = config->location_count + 1;
	struct location *grown =
		allocate(count, sizeof(*grown), "the locations");

	if (config->location_count)
		memcpy(grown, config->locations,
		       config->location_count * sizeof(*grown));
	grown[count - 1] = (struct location){path, weight};
	free(config->locations);
	config->locations = grown;
	config->location_count = count;
}

static char *take_off(struct config *config, const char *path)
{
	struct location *list = config->locations;

	for (size_t i = 0; i < config->location_count; i++) {
		if (strcmp(list[i].path, path) != 0)
			continue;
		free(list[i].path);
		config->location_count--;
		memmove(&list[i], &list[i + 1],
			(config->location_count - i) * sizeof(*list));
		return NULL;
	}
	return text("location '%s' is not in the list", path);
}

char *locations_parse(void *context, const char *value)
{
	struct config *config = context;
	bool plus = *value == '+', minus = *value == '-';
	const char *start = value + (plus || minus);
	const char *split = strrchr(start, ' ');
	unsigned long long weight = 1;
	char *path, *wrong;

	if (minus)
		return take_off(config, start);
	if (split) {
		wrong = parse_count(split + 1, 1, WEIGHT_MOST, &weight);
		if (wrong)
			return wrong;
		while (split > start && split[-1] == ' ')
			split--;
	}
	path = text("%.*s", split ? (int)(split - start) : (int)strlen(start),
		    start);
	if (!*path) {
		free(path);
		return text("the directory is missing");
	}
	if (!plus)
		locations_clear(config);
	add(config, path, weight);
	return NULL;
}

void locations_print(FILE *out, const struct setting *setting,
		     const void *context)
{
	const struct config *config = context;

	for (size_t i = 0; i < config->location_count; i++)
		fprintf(out, "set %s %s%s %llu\n", setting->words, i ? "+" : "",
			config->locations[i].path,
			(unsigned long long)config->locations[i].weight);
}

void locations_emit(struct json *json, const void *context)
{
	const struct config *config = context;

	json_array(json, "locations");
	for (size_t i = 0; i < config->location_count; i++) {
		json_object(json, NULL);
		json_text(json, "path", config->locations[i].path);
		json_count(json, "weight", config->locations[i].weight);
		json_end(json);
	}
	json_end(json);
}
