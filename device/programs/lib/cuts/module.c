// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel module that a file system lies on and that looks for its medium
 * only once, as NFTL. It is loaded for the first mount. Before the others the
 * chip is taken out and put in again: to load a module takes the kernel longer
 * than a mount, and an emulator has to translate its code anew.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "checked.h"
#include "cuts/cuts.h"
#include "diag.h"

int cuts_module_load(const char *name)
{
	struct utsname kernel;
	int fd, error;
	char *path;

	if (uname(&kernel))
		return fail_errno("uname", name);
	path = text("/lib/modules/%s/%s.ko", kernel.release, name);
	fd = checked_open(path, O_RDONLY, 0);
	if (fd < 0)
		return -1;
	error = (int)syscall(SYS_finit_module, fd, "", 0);
	if (error)
		fail_errno("load", path);
	return checked_close(fd, path) || error ? -1 : 0;
}
