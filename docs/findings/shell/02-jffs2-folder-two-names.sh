#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# JFFS2 leaves a renamed folder under two names, and synced files go with one of them:
# 02-jffs2-folder-two-names.md. Whole pages only.
. "${0%/*}/nandsim.sh"

begin jffs2
mkdir D
echo data > D/file
sync
# the node of the new name is the last of a page, that which ends the old one is in the next
dd if=/dev/urandom of=pad bs=1800 count=1 2>/dev/null
mv D E
cut
[ -d D ] && [ -d E ] || no_fault "one of D and E is there: $(echo *)"
rm -rf D || no_fault "D cannot be removed"
sync
cut
[ -e E/file ] && no_fault "E has its file"
fault "rm -rf D took E/file, which had been synced"
