// SPDX-License-Identifier: GPL-2.0-or-later
/* The data that workloads write; see payload.h. */
#include <stdlib.h>
#include <string.h>

#include "diag.h"
#include "payload.h"

uint64_t payload_draw(uint64_t *state)
{
	uint64_t mixed = *state += 0x9e3779b97f4a7c15u;

	mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
	mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
	return mixed ^ mixed >> 31;
}

void payload_open(struct payload *payload, uint64_t seed,
		  double compressibility, size_t largest)
{
	size_t zeros = (size_t)(compressibility * PAYLOAD_PERIOD + 0.5);

	payload->at = 0;
	payload->pool = allocate((unsigned long long)PAYLOAD_REPEAT + largest,
				 1, "the data to write");
	for (size_t at = 0; at < PAYLOAD_REPEAT; at += PAYLOAD_PERIOD) {
		for (size_t i = 0; i < PAYLOAD_PERIOD; i += sizeof(uint64_t)) {
			uint64_t random = payload_draw(&seed);

			memcpy(payload->pool + at + i, &random, sizeof(random));
		}
		memset(payload->pool + at + PAYLOAD_PERIOD - zeros, 0, zeros);
	}
	/* The tail repeats the start, so that a read may run over the end. */
	for (size_t at = 0; at < largest; at++)
		payload->pool[PAYLOAD_REPEAT + at] = payload->pool[at];
}

void payload_close(struct payload *payload)
{
	free(payload->pool);
	payload->pool = NULL;
}
