// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A block that is written again with another content, by MTD's own calls: what
 * a controller may have stored wrong, or an image may have. The ECC is made for
 * what is written, so that no read sees a wrong bit.
 */
#include <errno.h>
#include <fcntl.h>
#include <mtd/mtd-user.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "checked.h"
#include "diag.h"
#include "faults.h"
#include "payload.h"

#define MTD_DEVICE "/dev/mtd0"

uint8_t *page_bytes(const struct pages *pages, unsigned int number)
{
	return pages->bytes +
	       (size_t)number * (pages->shape.page + pages->shape.spare);
}

static bool is_erased(const uint8_t *bytes, size_t count)
{
	while (count && bytes[count - 1] == 0xff)
		count--;
	return !count;
}

static int read_pages(int fd, struct pages *pages, uint64_t block)
{
	const struct shape *shape = &pages->shape;
	unsigned int i;

	for (i = 0; i < pages->count; i++) {
		uint64_t at = block + (uint64_t)i * shape->page;
		uint8_t *bytes = page_bytes(pages, i);
		struct mtd_oob_buf64 spare = {
			.start = at,
			.length = shape->spare,
			.usr_ptr = (uintptr_t)(bytes + shape->page),
		};

		if (pread(fd, bytes, shape->page, (off_t)at) !=
			    (ssize_t)shape->page ||
		    ioctl(fd, MEMREADOOB64, &spare))
			return fail_errno("read", MTD_DEVICE);
		pages->used[i] = !is_erased(bytes, shape->page + shape->spare);
	}
	return 0;
}

static int write_pages(int fd, const struct pages *pages, uint64_t block)
{
	const struct shape *shape = &pages->shape;
	struct erase_info_user64 all = {.start = block, .length = shape->block};
	unsigned int i;

	if (ioctl(fd, MEMERASE64, &all))
		return fail_errno("erase", MTD_DEVICE);
	for (i = 0; i < pages->count; i++) {
		const uint8_t *bytes = page_bytes(pages, i);
		struct mtd_write_req page = {
			.start = block + (uint64_t)i * shape->page,
			.len = shape->page,
			.ooblen = shape->spare,
			.usr_data = (uintptr_t)bytes,
			.usr_oob = (uintptr_t)(bytes + shape->page),
			.mode = MTD_OPS_PLACE_OOB,
		};

		if (pages->used[i] && ioctl(fd, MEMWRITE, &page))
			return fail_errno("write", MTD_DEVICE);
	}
	return 0;
}

int damage_content(uint32_t k, unsigned long seed,
		   int (*change)(const struct pages *pages, unsigned int page,
				 uint64_t *state))
{
	uint64_t state = ((uint64_t)k << 32) + seed, block;
	struct pages pages = {0};
	uint32_t page = 0;
	int fd, error;

	if (damage_shape(&pages.shape))
		return -1;
	pages.count = pages.shape.block / pages.shape.page;
	error = damage_find_page(k, pages.count, &page);
	if (error)
		return error;
	fd = checked_open(MTD_DEVICE, O_RDWR, 0);
	if (fd < 0)
		return -1;
	pages.bytes = allocate(pages.count,
			       pages.shape.page + pages.shape.spare, "a block");
	pages.used = allocate(pages.count, sizeof(*pages.used), "a block");
	block = (uint64_t)(page / pages.count) * pages.shape.block;
	error = read_pages(fd, &pages, block);
	if (!error)
		error = change(&pages, page % pages.count, &state);
	if (!error)
		error = write_pages(fd, &pages, block);
	free(pages.bytes);
	free(pages.used);
	return checked_close(fd, MTD_DEVICE) ? -1 : error;
}
