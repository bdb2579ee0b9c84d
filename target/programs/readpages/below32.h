// SPDX-License-Identifier: GPL-2.0-or-later
/* below() where no number has 128 bits: the upper half of the product, by its
 * parts of 32 bits. The same numbers as elsewhere. */
#ifndef READPAGES_BELOW32_H
#define READPAGES_BELOW32_H

#include <stdint.h>

#include "payload.h"

static uint64_t below(uint64_t count, uint64_t *random)
{
	uint64_t drawn = payload_draw(random);
	uint64_t drawn_low = (uint32_t)drawn, drawn_high = drawn >> 32;
	uint64_t count_low = (uint32_t)count, count_high = count >> 32;
	uint64_t middle =
		drawn_high * count_low + (drawn_low * count_low >> 32);
	uint64_t other = drawn_low * count_high + (uint32_t)middle;

	return drawn_high * count_high + (middle >> 32) + (other >> 32);
}

#endif
