// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Unpacks a job: a cpio archive in memory that the kernel does not use.
 */
#ifndef NANDLAB_INIT_UNPACK_H
#define NANDLAB_INIT_UNPACK_H

#include <stdint.h>

/*
 * Unpacks at the root what the host has left at a physical address: a page with
 * struct head, then the archive, in the format "newc". The host's side is
 * src/nandlab/board/jobs/cargo.py and cpio.py. Dies if there is no archive of
 * files and folders, or no room for it.
 */
void unpack_job(uint64_t address);

#endif
