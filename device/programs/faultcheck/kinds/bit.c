// SPDX-License-Identifier: GPL-2.0-or-later
#include "../faults.h"
#include "payload.h"

static int change_bit(const struct pages *pages, unsigned int page,
		      uint64_t *state)
{
	uint64_t bit = payload_draw(state) % (8 * pages->shape.page);

	page_bytes(pages, page)[bit / 8] ^= (uint8_t)(1 << bit % 8);
	return 0;
}

static int store_other_bit(const struct point *p)
{
	return damage_content(p->k, p->seed, change_bit);
}

const struct fault_kind fault_kind_bit = {
	.name = "bit",
	.what = "one bit of the page it wrote is another, behind right ECC",
	.order = 7,
	.unreadable = true,
	.strikes = "p",
	.damage = store_other_bit,
};
