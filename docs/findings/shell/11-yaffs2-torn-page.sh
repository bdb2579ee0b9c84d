#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# YAFFS2 takes a torn page for the newest: 11-yaffs2-torn-page.md. A page of data is beyond what the
# ECC corrects, and its tags are right. Needs YAFFS2's module too.
. "${0%/*}/nandsim.sh"

modprobe yaffs2
begin yaffs2
echo version 1 > settings
sync
printf 'version 2 ' | dd of=settings conv=notrunc 2>/dev/null
sync settings # fsync(2), for after sync(2) a mount takes the checkpoint and does not scan
take
tear "$(find_text 'version 2')"
put
up && cd "$dir" || exit 2
[ "$(cat settings 2>/dev/null)" = "version 1" ] && no_fault "the synced version is there"
fault "of version 1, which was synced, is left: $(cat settings 2>&1 | tr -d '\0' | head -c 60)"
