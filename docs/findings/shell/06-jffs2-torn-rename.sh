#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# JFFS2 leaves a synced file without a name: 06-jffs2-torn-rename.md. The page with the new name of a
# rename is torn: this node is wrong, and that which ends the old name, if it is there, is right.
. "${0%/*}/nandsim.sh"

begin jffs2
echo version 1 > settings
sync
echo version 2 > settings.new
sync
mv settings.new settings
sync
take
tear "$(find_text settings)"
put
up && cd "$dir" || exit 2
[ -e settings.new ] && no_fault "the old name is there: $(cat settings.new)"
[ "$(cat settings 2>&1)" = "version 2" ] && no_fault "settings has version 2"
fault "settings is '$(cat settings 2>&1)', and version 2, which was synced, has no name"
