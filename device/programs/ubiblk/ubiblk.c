// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ubiblk: makes a block device of a UBI volume, for reading, or takes it away.
 *
 * The volume /dev/ubi0_1 has the block device /dev/ubiblock0_1 then, and a file
 * system that needs one, such as squashfs, can be mounted from it. mtd-utils'
 * ubiblock does the same; the board's image has none.
 *
 * Needs a kernel with CONFIG_MTD_UBI_BLOCK. Neither command reads the flash,
 * but of a static volume: the kernel reads it whole when it is opened first.
 */
#include <errno.h>
#include <fcntl.h>
#include <mtd/ubi-user.h>
#include <string.h>
#include <sys/ioctl.h>

#include "checked.h"
#include "diag.h"
#include "options.h"

#define ABOUT "Makes a block device of a UBI volume, or takes it away."

struct command {
	const char *name;
	unsigned long request;
	const char *verb; /* of the message when it fails */
};

static const struct command commands[] = {
	{"create", UBI_IOCVOLCRBLK, "make a block device of"},
	{"remove", UBI_IOCVOLRMBLK, "take away the block device of"},
};

struct request {
	const struct command *command;
	const char *volume;
};

static int take_word(void *context, const char *value)
{
	struct request *r = context;

	if (r->volume)
		return fail("%s: one volume is enough", value);
	if (r->command) {
		r->volume = value;
		return 0;
	}
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		if (!strcmp(value, commands[i].name))
			r->command = &commands[i];
	return r->command ? 0 : fail("%s: expected create or remove", value);
}

static const struct option_decl options[] = {
	{NULL, "create|remove VOLUME",
	 "what is done to which, e.g. /dev/ubi0_0", take_word},
};

static int run(const struct request *r)
{
	struct ubi_blkcreate_req none = {0};
	int fd = checked_open(r->volume, O_RDONLY, 0);
	int result;

	if (fd < 0)
		return -1;
	result = ioctl(fd, r->command->request, &none);
	if (result)
		fail_errno(r->command->verb, r->volume);
	return checked_close(fd, r->volume) || result ? -1 : 0;
}

int main(int argc, char **argv)
{
	struct request r = {0};
	bool helped;

	(void)argc;
	diag_program = "ubiblk";
	if (options_walk(options, sizeof(options) / sizeof(*options), argv + 1,
			 &r, "create|remove VOLUME", ABOUT, &helped))
		return helped ? EXIT_OK : EXIT_USAGE;
	if (!r.volume) {
		fail("expected create or remove, and a volume");
		return EXIT_USAGE;
	}
	return run(&r) ? EXIT_RUN_FAILED : EXIT_OK;
}
