#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# UBIFS cannot be mounted ever again: 09-ubifs-second-master.md. A page of the second copy of the
# master node, which is not its newest, has a wrong magic. The first copy is sound.
. "${0%/*}/nandsim.sh"

block=131072 page=2048

# bytes AT COUNT: of the chip's copy, in hexadecimal
bytes() {
	dd if="$chip" bs=1 skip="$1" count="$2" 2>/dev/null | hexdump -v -e '1/1 "%02x"'
}

begin ubifs
echo data > file
sync
for again in 1 2 3; do # each writes the master node
	down
	up && cd "$dir" || exit 2
done
take
second=
for n in $(seq 0 63); do
	# a volume's header: volume 0, LEB 2
	case $(bytes $((n * block + page)) 16) in
	55424921????????0000000000000002) second=$((n * block + 2 * page)) ;;
	esac
done
[ "$second" ] || no_fault "LEB 2 is nowhere"
count=0
while [ "$(bytes $((second + count * page)) 4)" = 31181006 ]; do
	count=$((count + 1))
done
[ "$count" -gt 2 ] || no_fault "LEB 2 has $count master nodes"
spoil $((second + (count - 2) * page))
put
for again in 1 2 3; do
	up 2>/dev/null && no_fault "mount $again succeeds: $(cat "$dir/file")"
	ubidetach -d 0
done
fault "three mounts fail: $(dmesg | grep -o 'failed to recover master node' | tail -n 1)"
