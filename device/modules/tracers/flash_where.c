// SPDX-License-Identifier: GPL-2.0-or-later
/* Which MTD device a page of a chip is in: see flash.h. */
#include "flash.h"

u16 flash_device_of(const struct flash_chip *chip, u64 page)
{
	const struct flash_device *best = NULL, *device = flash_devices;

	/* Prefer a partition to the chip that it is part of. */
	for (; device < &flash_devices[flash_devices_end]; device++)
		if (device->chip == chip && page >= device->first_page &&
		    page < device->end_page &&
		    (!best || device->end_page - device->first_page <
				      best->end_page - best->first_page))
			best = device;
	return best ? best->number : 0xffff;
}

static void cut_near(struct flash_near *near, u64 page, u64 border)
{
	if (border <= page)
		near->first_page = max(near->first_page, border);
	else
		near->end_page = min(near->end_page, border);
}

void flash_find_near(struct flash_chip *chip, u64 page)
{
	struct flash_near near = {.end_page = U64_MAX};
	const struct flash_device *device = flash_devices;

	for (; device < &flash_devices[flash_devices_end]; device++) {
		if (device->chip != chip)
			continue;
		cut_near(&near, page, device->first_page);
		cut_near(&near, page, device->end_page);
	}
	near.device = flash_device_of(chip, page);
	chip->near = near;
}
