// SPDX-License-Identifier: GPL-2.0-or-later
/* Mounts and unmounts the file system under test, without a program of its own:
 * this is done some ten thousand times. */
#include <errno.h>
#include <fcntl.h>
#include <mtd/ubi-user.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <unistd.h>

#include "cuts/cuts.h"

#define UBI_CONTROL "/dev/ubi_ctrl"

static int ubi(unsigned long request, const void *argument)
{
	int fd = open(UBI_CONTROL, O_RDWR | O_CLOEXEC);
	int error;

	if (fd < 0)
		return -1;
	error = ioctl(fd, request, argument);
	close(fd);
	return error;
}

static int detach(void)
{
	int32_t number = 0;

	return ubi(UBI_IOCDET, &number);
}

static int attach(int mtd)
{
	struct ubi_attach_req request = {.ubi_num = 0, .mtd_num = mtd};

	return ubi(UBI_IOCATT, &request);
}

/* The module looks for its medium when it is loaded, and then when the chip is
 * put in again. */
static int look_anew(const char *module)
{
	static bool loaded;

	if (loaded)
		return journal_say("replug");
	loaded = !cuts_module_load(module);
	return loaded ? 0 : -1;
}

int subject_mount(const struct subject *s)
{
	int error;

	if (s->module && look_anew(s->module))
		return -1;
	if (s->ubi != NONE && attach(s->ubi))
		return -1;
	if (!mount(s->source, MOUNTPOINT, s->type, s->flags, s->options))
		return 0;
	error = errno;
	if (s->ubi != NONE)
		detach();
	errno = error;
	return -1;
}

int subject_unmount(const struct subject *s)
{
	return umount(MOUNTPOINT) || (s->ubi != NONE && detach()) ? -1 : 0;
}
