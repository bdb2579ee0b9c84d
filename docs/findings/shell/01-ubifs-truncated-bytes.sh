#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# UBIFS gives back bytes that a truncation cut off: 01-ubifs-truncated-bytes.md. Whole pages only.
. "${0%/*}/nandsim.sh"

begin ubifs
dd if=/dev/zero bs=8192 count=1 2>/dev/null | tr '\0' X > foo
mkdir B
sync
printf YYYY | dd of=foo bs=1 seek=100 conv=notrunc 2>/dev/null
truncate -s 2500 foo
touch B/a
sync B # fsync(2) of the folder alone
cut
size=$(stat -c %s foo)
truncate -s 8192 foo
sync
cut
old=$(tail -c +2501 foo | tr -d '\0' | wc -c)
[ "$size" = 2500 ] && [ "$old" -gt 0 ] && fault "$old old bytes where zeros belong"
no_fault "foo had $size bytes, and $old of those behind are not zeros"
