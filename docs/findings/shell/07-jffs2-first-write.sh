#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# JFFS2 cannot be mounted after its first write was torn: 07-jffs2-first-write.md. Both nodes of the
# first page are wrong, and each erased block has its cleanmarker.
. "${0%/*}/nandsim.sh"

begin jffs2
down
flash_erase -j -q "/dev/mtd$mtd" 0 0
up && cd "$dir" || exit 2
: > first-name
sync
take
at=$(find_text first-name)
spoil $((at - 40 - 68 + 20))
spoil $((at - 40 + 12))
put
up 2>/dev/null && no_fault "it is mounted"
fault "it cannot be mounted: $(dmesg | grep -o 'Cowardly.*' | tail -n 1)"
