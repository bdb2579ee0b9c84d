# SPDX-License-Identifier: GPL-2.0-or-later
# What the reproducers of docs/findings share: nandsim of 64 blocks of 64 pages of 2 KiB, a file
# system on it in $dir, and a power cut, which is a copy of the chip. It has whole pages only: what
# waits in the kernel's memory is not on it.
#
# Needs: root, a kernel with nandsim, mtd-utils. Costs: 8 MiB of memory twice. Run a script alone:
# it loads nandsim, and no other MTD device has to be there. It prints the fault and ends with 0, or
# what it saw instead and ends with 1.

dir=${TMPDIR:-/tmp}/reproduced spare=
chip=${TMPDIR:-/tmp}/reproduced.chip
mkdir -p "$dir"

put_chip_in() {
	modprobe nandsim first_id_byte=0xec second_id_byte=0xa1 third_id_byte=0x00 \
		fourth_id_byte=0x15 overridesize=6 || exit 2
	mtd=$(sed -n 's/^mtd\([0-9]*\):.*NAND simulator partition 0.*/\1/p' /proc/mtd)
}

# begin jffs2|ubifs|yaffs2: a new one, mounted. YAFFS2 keeps its tags beside the pages, and JFFS2 its
# cleanmarkers, so their chip is copied with its spare area.
begin() {
	type=$1
	[ "$type" = ubifs ] || spare="--noecc --oob"
	put_chip_in
	if [ "$type" = ubifs ]; then
		modprobe ubi
		ubiformat "/dev/mtd$mtd" -O 2048 -y -q && attach &&
			ubimkvol /dev/ubi0 -N data -m >/dev/null && ubidetach -d 0 || exit 2
	fi
	up || exit 2
	cd "$dir" || exit 2
}

attach() {
	ubiattach -m "$mtd" -d 0 -O 2048 >/dev/null
}

up() {
	if [ "$type" = ubifs ]; then
		attach && mount -t ubifs ubi0:data "$dir"
	else
		mount -t "$type" "mtd$mtd" "$dir"
	fi
}

down() {
	cd /
	umount "$dir" || exit 2
	[ "$type" != ubifs ] || ubidetach -d 0 || exit 2
}

# The chip as it is goes to a file. Then the file system may do what it likes: put() undoes it.
take() {
	nanddump $spare --bb=dumpbad -q -f "$chip" "/dev/mtd$mtd" || exit 2
	down
}

put() {
	flash_erase -q "/dev/mtd$mtd" 0 0 &&
		nandwrite $spare -q "/dev/mtd$mtd" "$chip" 2>/dev/null || exit 2
}

# Power off and on: what the next kernel finds
cut() {
	take
	put
	up || exit 2
	cd "$dir" || exit 2
}

# find_text TEXT: where it is on the chip's copy, for the last time
find_text() {
	strings -t d -n ${#1} "$chip" | awk -v text="$1" '
		(i = index($0, text)) && !index($0, text ".") {
			line = $0
			sub(/^ *[0-9]+ /, "", line)
			last = $1 + index(line, text) - 1
		}
		END { print last }'
}

# spoil AT: four bytes of the chip's copy become zeros, as bits that were programmed
spoil() {
	printf '\0\0\0\0' | dd of="$chip" bs=1 seek="$1" conv=notrunc 2>/dev/null
}

# tear AT: as if the power had gone while the page at AT was written. Four of its bytes become zeros,
# and the pages of the block behind it are empty.
tear() {
	spoil "$1"
	page=$((2048 + ${spare:+64}+0))
	behind=$(($1 / page + 1))
	head -c $(((64 - behind % 64) % 64 * page)) /dev/zero | tr '\0' '\377' |
		dd of="$chip" bs=$page seek=$behind conv=notrunc 2>/dev/null
}

fault() {
	echo "fault: $*"
	exit 0
}

no_fault() {
	echo "no fault: $*"
	exit 1
}
