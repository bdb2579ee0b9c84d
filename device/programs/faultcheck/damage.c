// SPDX-License-Identifier: GPL-2.0-or-later
/* Wrong bits in a page that a load wrote. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checked.h"
#include "diag.h"
#include "faults.h"
#include "flashstat.h"
#include "payload.h"

#define MTD    "/sys/class/mtd/mtd0/"
#define STRIDE 61 /* bits between two that are wrong: a prime */

static int number_of(const char *file, unsigned int *value)
{
	char *all = slurp(file);

	if (!all)
		return fail_errno("read", file);
	*value = (unsigned int)strtoul(all, NULL, 10);
	free(all);
	return *value ? 0 : fail("%s: it is 0", file);
}

int damage_shape(struct shape *shape)
{
	return number_of(MTD "ecc_strength", &shape->strength) ||
			       number_of(MTD "ecc_step_size", &shape->step) ||
			       number_of(MTD "writesize", &shape->page) ||
			       number_of(MTD "oobsize", &shape->spare) ||
			       number_of(MTD "erasesize", &shape->block)
		       ? -1
		       : 0;
}

int damage_find_page(uint32_t k, unsigned int pages_per_block, uint32_t *page)
{
	char *all = slurp(FLASHSTAT_DIRECTORY "/journal_ops"), *at = all;
	uint32_t i, wanted = UINT32_MAX, where;
	char kind[16];
	int used;

	if (!all)
		return fail_errno("read", FLASHSTAT_DIRECTORY "/journal_ops");
	for (i = 0; sscanf(at, "%15s %u %*x\n%n", kind, &where, &used) == 2;
	     i++, at += used) {
		if (i == k && !strcmp(kind, "program"))
			wanted = where;
		else if (i > k && (where == wanted ||
				   (!strcmp(kind, "erase") &&
				    where / pages_per_block ==
					    wanted / pages_per_block)))
			wanted = UINT32_MAX;
	}
	free(all);
	*page = wanted;
	return wanted == UINT32_MAX;
}

int damage_page(uint32_t k, int more, unsigned long seed)
{
	uint64_t state = ((uint64_t)k << 32) + seed;
	unsigned int i, bits, first, step;
	struct shape shape;
	uint32_t page = 0;
	int fd, error;

	if (damage_shape(&shape))
		return -1;
	error = damage_find_page(k, shape.block / shape.page, &page);
	if (error)
		return error;
	fd = open(FLASHSTAT_DIRECTORY "/flip", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return fail_errno("open", FLASHSTAT_DIRECTORY "/flip");
	bits = 8 * shape.step;
	step = (unsigned int)(payload_draw(&state) % (shape.page / shape.step));
	first = (unsigned int)(payload_draw(&state) % bits);
	for (i = 0; !error && i < shape.strength + (unsigned int)more; i++)
		error = dprintf(fd, "%u %u", page,
				step * bits + (first + STRIDE * i) % bits) < 0;
	close(fd);
	return error ? fail_errno("write", FLASHSTAT_DIRECTORY "/flip") : 0;
}
