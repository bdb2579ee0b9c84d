// SPDX-License-Identifier: GPL-2.0-or-later
#include "../faults.h"

/* The nearest page of the block that is not erased; the same: there is none. */
static unsigned int find_other(const struct pages *pages, unsigned int page)
{
	unsigned int far;

	for (far = 1; far < pages->count; far++) {
		if (far <= page && pages->used[page - far])
			return page - far;
		if (page + far < pages->count && pages->used[page + far])
			return page + far;
	}
	return page;
}

static int swap_pages(const struct pages *pages, unsigned int page,
		      uint64_t *state)
{
	unsigned int other = find_other(pages, page), i;
	uint8_t *a = page_bytes(pages, page), *b = page_bytes(pages, other);

	(void)state;
	for (i = 0; i < pages->shape.page + pages->shape.spare; i++) {
		uint8_t byte = a[i];

		a[i] = b[i];
		b[i] = byte;
	}
	return other == page;
}

static int store_swapped(const struct point *p)
{
	return damage_content(p->k, p->seed, swap_pages);
}

const struct fault_kind fault_kind_swapped = {
	.name = "swapped",
	.what = "the page it wrote and the nearest one of its block have "
		"changed "
		"places",
	.order = 8,
	.unreadable = true,
	.strikes = "p",
	.damage = store_swapped,
};
