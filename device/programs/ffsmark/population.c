// SPDX-License-Identifier: GPL-2.0-or-later
/* The files of a run and the choices among them; see population.h. */
#include <stdlib.h>
#include <string.h>

#include "diag.h"
#include "population.h"

/* Room for what follows a prefix: "s", a subdirectory, "/", a number, NUL. */
#define NAME_ROOM 48

static void make_prefixes(struct population *population)
{
	const struct config *config = population->config;
	size_t count = config_location_count(config);
	size_t longest = 0;

	population->prefixes = allocate(count, sizeof(char *), "the paths");
	population->prefix_lengths =
		allocate(count, sizeof(size_t), "the paths");
	for (size_t i = 0; i < count; i++) {
		char *prefix = config->location_count
				       ? text("%s/", config->locations[i].path)
				       : text("%s", "");
		size_t length = strlen(prefix);

		population->prefixes[i] = prefix;
		population->prefix_lengths[i] = length;
		longest = length > longest ? length : longest;
		population->weights += config->location_count
					       ? config->locations[i].weight
					       : 1;
	}
	population->path = allocate(longest + NAME_ROOM, 1, "the paths");
}

void population_open(struct population *population, const struct config *config)
{
	memset(population, 0, sizeof(*population));
	population->config = config;
	population->slot_count = config->number * 2;
	population->slots = allocate(population->slot_count,
				     sizeof(struct slot), "the file table");
	make_prefixes(population);
	twister_seed(&population->choices, (uint32_t)config->seed);
	/* Postmark draws its data first, a character for each of these bytes:
	 * skip them. */
	twister_skip(&population->choices, config->size_high * 2);
}

void population_close(struct population *population)
{
	for (size_t i = 0; i < config_location_count(population->config); i++)
		free(population->prefixes[i]);
	free(population->prefixes);
	free(population->prefix_lengths);
	free(population->slots);
	free(population->path);
}

/* The slot after the last one taken, or else the first hole. */
static struct slot *free_slot(struct population *population)
{
	uint64_t i = population->next_free;

	if (i >= population->slot_count || population->slots[i].size) {
		i = population->no_hole_below;
		while (i < population->slot_count && population->slots[i].size)
			i++;
		population->no_hole_below = i;
	}
	if (i == population->slot_count)
		return NULL;
	population->next_free = i + 1;
	return &population->slots[i];
}

static uint32_t draw_location(struct population *population)
{
	const struct config *config = population->config;
	uint64_t at;
	uint32_t i = 0;

	if (config->location_count < 2)
		return 0;
	at = twister_below(&population->choices, population->weights);
	while (at >= config->locations[i].weight)
		at -= config->locations[i++].weight;
	return i;
}

struct slot *population_place(struct population *population, uint64_t *size)
{
	const struct config *config = population->config;
	struct slot *slot = free_slot(population);

	if (!slot)
		return NULL;
	slot->location = draw_location(population);
	if (config->subdirectories > 1)
		slot->subdirectory = (uint32_t)twister_below(
			&population->choices, config->subdirectories);
	slot->number = population->created + 1;
	*size = config->size_low +
		twister_below(&population->choices,
			      config->size_high - config->size_low);
	return slot;
}

void population_created(struct population *population, struct slot *slot,
			uint64_t size)
{
	slot->size = size;
	population->bytes += size;
	population->created++;
}

struct slot *population_draw(struct population *population)
{
	struct slot *slot;

	do {
		slot = &population->slots[twister_below(
			&population->choices, population->slot_count)];
	} while (!slot->size);
	return slot;
}

uint64_t population_growth(struct population *population,
			   const struct slot *slot)
{
	uint64_t high = population->config->size_high;

	if (slot->size >= high)
		return 0;
	return twister_below(&population->choices, high - slot->size) + 1;
}

void population_grown(struct population *population, struct slot *slot,
		      uint64_t growth)
{
	slot->size += growth;
	population->bytes += growth;
}

void population_deleted(struct population *population, struct slot *slot)
{
	uint64_t i = (uint64_t)(slot - population->slots);

	if (i < population->no_hole_below)
		population->no_hole_below = i;
	population->bytes -= slot->size;
	slot->size = 0;
	population->deleted++;
}

bool population_chance(struct population *population, int64_t bias)
{
	return (int64_t)twister_below(&population->choices, 10) < bias;
}

/* printf() would cost as much as the rest of naming a file. */
static char *put_number(char *at, uint64_t number)
{
	char digits[20];
	int count = 0;

	do {
		digits[count++] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	while (count)
		*at++ = digits[--count];
	return at;
}

static char *put_directory(struct population *population, uint64_t location,
			   uint64_t subdirectory)
{
	size_t length = population->prefix_lengths[location];
	char *at = population->path + length;

	memcpy(population->path, population->prefixes[location], length);
	if (population->config->subdirectories < 2)
		return at;
	*at++ = 's';
	return put_number(at, subdirectory);
}

const char *population_path(struct population *population,
			    const struct slot *slot)
{
	char *at =
		put_directory(population, slot->location, slot->subdirectory);

	if (population->config->subdirectories > 1)
		*at++ = '/';
	*put_number(at, slot->number) = '\0';
	return population->path;
}

const char *population_directory(struct population *population,
				 uint64_t location, uint64_t subdirectory)
{
	*put_directory(population, location, subdirectory) = '\0';
	return population->path;
}
