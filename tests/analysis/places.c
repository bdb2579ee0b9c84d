// SPDX-License-Identifier: GPL-2.0-or-later
/* Prints readbench's requests for a point, an offset and a length a line:
 * places PATTERN N COUNT SIZE FILE_BYTES SEED */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "places.h"

int main(int argc, char **argv)
{
	struct point point = {0};
	struct places places;
	uint64_t bytes;

	if (argc != 7)
		return 2;
	while (strcmp(pattern_names[point.pattern], argv[1]) != 0)
		if (!pattern_names[++point.pattern])
			return 2;
	point.n = strtoull(argv[2], NULL, 10);
	point.count = strtoull(argv[3], NULL, 10);
	point.size = strtoull(argv[4], NULL, 10);
	bytes = strtoull(argv[5], NULL, 10);
	places_open(&places, &point, bytes, strtoull(argv[6], NULL, 10));
	for (uint64_t i = 0; i < places.count; i++)
		printf("%" PRIu64 " %" PRIu64 "\n", places.all[i].offset,
		       places.all[i].bytes);
	places_close(&places);
	return 0;
}
