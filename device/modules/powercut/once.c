// SPDX-License-Identifier: GPL-2.0-or-later
/* Operations that fail once: see once.h. */
#include "once.h"

#include "array.h"

static struct {
	u32 programs, erases; /* so many more until one fails; 0: none does */
	u32 page;	      /* whose read fails; CHIP_NO_PAGE: none */
	bool failed;
} once = {.page = CHIP_NO_PAGE};

int once_arm(const char *what, u32 n)
{
	bool program = !strcmp(what, "program"), erase = !strcmp(what, "erase");
	bool read = !strcmp(what, "read");

	if (!program && !erase && !read && strcmp(what, "none"))
		return -EINVAL;
	once.programs = program ? n : 0;
	once.erases = erase ? n : 0;
	once.page = read ? n : CHIP_NO_PAGE;
	once.failed = false;
	return 0;
}

bool once_has_failed(void)
{
	return once.failed;
}

static bool fails(struct chip *chip, u32 *left)
{
	if (!*left || --*left)
		return false;
	once.failed = true;
	chip->status |= STATUS_FAIL;
	/* the register has what was to be programmed, or nothing */
	chip->reg_row = CHIP_NO_PAGE;
	chip->read_kind = CHIP_READ_NONE;
	return true;
}

bool once_program_fails(struct chip *chip)
{
	return fails(chip, &once.programs);
}

bool once_erase_fails(struct chip *chip)
{
	return fails(chip, &once.erases);
}

bool once_read_fails(u32 page)
{
	if (page != once.page)
		return false;
	once.page = CHIP_NO_PAGE;
	once.failed = true;
	return true;
}
