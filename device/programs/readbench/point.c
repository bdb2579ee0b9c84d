// SPDX-License-Identifier: GPL-2.0-or-later
/* The file of points; see point.h. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "diag.h"
#include "point.h"
#include "settings.h"

#define COUNT_MAX 1000000
#define BYTES_MAX 16777216
#define N_MAX	  65536
#define PAUSE_MAX 3600e6
#define LETTERS	  "abcdefghijklmnopqrstuvwxyz"

const char *const pattern_names[] = {
	"sequential",	  "backward",	      "stride", "random",
	"random_replace", "random_unaligned", "head",	NULL,
};

const char *const access_names[] = {"read", "pread", "mmap", NULL};

const char *const advice_names[] = {
	"none",		 "fadv_normal", "fadv_random", "fadv_sequential",
	"fadv_willneed", "madv_normal", "madv_random", "madv_sequential",
	"madv_willneed", NULL,
};

/* A column's value to its field; NULL, or what is wrong. */
static char *take_count(const char *value, double min, double max,
			uint64_t *field)
{
	unsigned long long count;
	char *wrong = parse_count(value, min, max, &count);

	if (!wrong)
		*field = count;
	return wrong;
}

static char *take_word(const char *value, const char *const *words, int *field)
{
	for (int i = 0; words[i]; i++) {
		if (strcmp(words[i], value) != 0)
			continue;
		*field = i;
		return NULL;
	}
	return text("unknown word '%s'", value);
}

static char *take_name(const char *value, char **field)
{
	if (!strchr(LETTERS, *value) ||
	    value[strspn(value, LETTERS "0123456789_")])
		return text("'%s': a name has a-z, 0-9 and _, a letter first",
			    value);
	*field = text("%s", value);
	return NULL;
}

static char *take_column(struct point *point, int column, const char *value)
{
	switch (column) {
	case 0:
		return take_name(value, &point->name);
	case 1:
		return take_word(value, pattern_names, &point->pattern);
	case 2:
		return take_count(value, 0, N_MAX, &point->n);
	case 3:
		return take_count(value, 0, COUNT_MAX, &point->count);
	case 4:
		return take_count(value, 1, BYTES_MAX, &point->size);
	case 5:
		return take_word(value, access_names, &point->access);
	case 6:
		return take_word(value, advice_names, &point->advice);
	case 7:
		return take_count(value, 0, PAUSE_MAX, &point->pause_us);
	case 8:
		return take_count(value, 1, 3, &point->drop);
	case 9:
		return take_count(value, 0, 1, &point->reopen);
	}
	return text("more than ten columns, from '%s'", value);
}

/* What is wrong with columns that are each right; NULL if nothing is. */
static char *mistaken(const struct point *point)
{
	bool head = point->pattern == HEAD;

	if (head ? point->n < 1 || point->n > 100
		 : !point->n != (point->pattern != STRIDE))
		return text("n is %llu: a stride has 1 or more, a head 1 to "
			    "100 percent, all others 0",
			    (unsigned long long)point->n);
	if (head != !point->count)
		return text("count is %llu: a head has 0, all others 1 or more",
			    (unsigned long long)point->count);
	if (point->drop == 2)
		return text("drop is 2: give 1 or 3");
	if (point->access != ACCESS_MMAP &&
	    !strncmp(advice_names[point->advice], "madv", 4))
		return text("%s is of a map: the access must be mmap",
			    advice_names[point->advice]);
	return NULL;
}

static char *take_line(struct point *point, char *line)
{
	char *wrong = NULL;
	int column = 0;
	char *value;

	while (!wrong && (value = strsep(&line, " \t")))
		if (*value)
			wrong = take_column(point, column++, value);
	if (!wrong && column < 10)
		wrong = text("%d of ten columns", column);
	return wrong ? wrong : mistaken(point);
}

static bool twice(const struct points *points)
{
	const char *newest = points->all[points->count - 1].name;

	for (size_t i = 0; i + 1 < points->count; i++)
		if (!strcmp(points->all[i].name, newest))
			return true;
	return false;
}

static char *take_lines(struct points *points, char *rest, size_t *number)
{
	char *line, *wrong = NULL;

	while (!wrong && (line = strsep(&rest, "\n"))) {
		++*number;
		line[strcspn(line, "#")] = '\0';
		if (!line[strspn(line, " \t")])
			continue;
		wrong = take_line(&points->all[points->count++], line);
		if (!wrong && twice(points))
			wrong = text("a second point of that name");
	}
	return wrong;
}

int points_read(struct points *points, const char *path)
{
	char *content = slurp(path);
	size_t lines = 1, number = 0;
	char *wrong;

	if (!content)
		return fail_errno("read the points in", path);
	for (const char *at = content; *at; at++)
		lines += *at == '\n';
	points->all = allocate(lines, sizeof(*points->all), "the points");
	wrong = take_lines(points, content, &number);
	free(content);
	if (wrong) {
		fail("%s:%zu: %s", path, number, wrong);
		free(wrong);
		return -1;
	}
	return points->count ? 0 : fail("%s: there is no point in it", path);
}

void points_free(struct points *points)
{
	for (size_t i = 0; i < points->count; i++)
		free(points->all[i].name);
	free(points->all);
}

uint64_t point_needs(const struct point *point)
{
	switch ((enum pattern)point->pattern) {
	case SEQUENTIAL:
	case BACKWARD:
	case RANDOM:
		return point->count * point->size;
	case STRIDE:
		return ((point->count - 1) * point->n + 1) * point->size;
	case RANDOM_REPLACE:
	case RANDOM_UNALIGNED:
		return point->size;
	case HEAD:
		break;
	}
	return 1;
}
