// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What statfs(2) says of the room: no more is available than is free, and no
 * more is free than there is. What counts as used is what files have, what the
 * file system keeps for itself, and not much more.
 */
#include <errno.h>
#include <string.h>
#include <sys/statvfs.h>

#include "cuts/judge.h"

uint64_t cuts_statfs_reserve = NEVER_USED;

/* Of folders, indexes and nodes' heads: loads that ask have few files. */
#define SLACK_BYTES 65536u

void judge_statfs(uint64_t bytes, struct finding *finding)
{
	struct statvfs room;
	uint64_t used;

	if (statvfs(MOUNTPOINT, &room)) {
		cuts_found(finding, METADATA, "statfs: %s", strerror(errno));
		return;
	}
	if (room.f_bfree > room.f_blocks || room.f_bavail > room.f_bfree) {
		cuts_found(finding, METADATA,
			   "statfs: %llu blocks, %llu free, %llu available",
			   (unsigned long long)room.f_blocks,
			   (unsigned long long)room.f_bfree,
			   (unsigned long long)room.f_bavail);
		return;
	}
	used = (uint64_t)(room.f_blocks - room.f_bfree) * room.f_frsize;
	if (cuts_statfs_reserve != NEVER_USED &&
	    used > bytes + cuts_statfs_reserve + SLACK_BYTES)
		cuts_found(finding, METADATA,
			   "statfs: %llu bytes used, files have %llu",
			   (unsigned long long)used, (unsigned long long)bytes);
}
