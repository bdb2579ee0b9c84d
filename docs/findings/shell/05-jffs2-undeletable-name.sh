#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# JFFS2 has a name that can be neither read nor deleted: 05-jffs2-undeletable-name.md. The page that
# makes a file has a wrong first node, a right name, and data that are wrong behind a right header.
. "${0%/*}/nandsim.sh"

begin jffs2
printf 'first words' > torn-name
sync
take
spoil $(($(find_text torn-name) - 40 - 68 + 20))
spoil "$(find_text 'first words')"
put
up && cd "$dir" || exit 2
for uses in 'cat torn-name' 'rm -f torn-name' 'touch torn-name' 'mv torn-name other'; do
	$uses 2>&1 | grep -q 'Input/output error' || no_fault "$uses ends otherwise"
done
cut
rm -f torn-name 2>/dev/null && no_fault "it can be removed after a mount"
fault "cat, rm, touch and mv of torn-name end with an I/O error"
