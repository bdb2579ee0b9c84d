#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# JFFS2 gives an inode number twice: 04-jffs2-inode-number-twice.md. Of the page that makes a file,
# the inode's node is wrong, and the name behind it is right.
. "${0%/*}/nandsim.sh"

begin jffs2
: > torn-name
sync
take
spoil $(($(find_text torn-name) - 40 - 68 + 20)) # 40 bytes of the name's node, 68 of the inode's
put
up && cd "$dir" || exit 2
[ -e torn-name ] && no_fault "torn-name is there in the first mount"
echo my words > mine
sync
cut
[ "$(stat -c %i torn-name 2>&1)" = "$(stat -c %i mine)" ] || no_fault "$(ls -i)"
echo others > torn-name
fault "torn-name and mine are one file, which has '$(cat mine)' now"
