// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel module that a file system lies on and that looks for its medium
 * only when it is loaded, as NFTL. It is loaded at each mount without the
 * signature at the end of its file: to check that takes the kernel longer than
 * the mount.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "checked.h"
#include "cutcheck.h"
#include "diag.h"

#define SIGNED		"~Module signature appended~\n"
#define SIGNED_BYTES	(sizeof(SIGNED) - 1)
#define SIGNATURE_BYTES 12 /* struct module_signature of the kernel */

/* Bytes of the file before its signature; the last word of the struct at its
 * end is the signature's length. */
static size_t bare(const uint8_t *file, size_t bytes)
{
	size_t more = SIGNED_BYTES + SIGNATURE_BYTES, signature;
	const uint8_t *length;

	if (bytes < more ||
	    memcmp(file + bytes - SIGNED_BYTES, SIGNED, SIGNED_BYTES) != 0)
		return bytes;
	length = file + bytes - SIGNED_BYTES - 4;
	signature = (size_t)length[0] << 24 | length[1] << 16 | length[2] << 8 |
		    length[3];
	return signature < bytes - more ? bytes - more - signature : bytes;
}

int module_read(struct module *module)
{
	struct utsname kernel;
	struct stat st;
	char *path;
	int fd;

	if (uname(&kernel))
		return fail_errno("uname", module->name);
	path = text("/lib/modules/%s/%s.ko", kernel.release, module->name);
	fd = checked_open(path, O_RDONLY, 0);
	if (fd < 0)
		return -1;
	if (fstat(fd, &st))
		return fail_errno("stat", path);
	module->file =
		mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (module->file == MAP_FAILED)
		return fail_errno("map", path);
	module->bytes = bare(module->file, (size_t)st.st_size);
	return checked_close(fd, path);
}

int module_load(const struct module *module)
{
	if (!module->name)
		return 0;
	return (int)syscall(SYS_init_module, module->file, module->bytes, "");
}

int module_unload(const struct module *module)
{
	if (!module->name)
		return 0;
	return (int)syscall(SYS_delete_module, module->name, O_NONBLOCK);
}
