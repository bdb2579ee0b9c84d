# SPDX-License-Identifier: GPL-2.0-or-later
"""A partition of an emulated ARM board is used for real, by other names and through other devices:
the guard refuses each, and lets it pass when it is free again.

Debian's kernel for ARM has no NFTL: test_standin_nftl.py builds it, and test_guard_board.py has it
on the virtual board.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from standinssh import SLOW_S, There, reached
from support import armhf, standin

from nandlab.board.own import boardlock
from nandlab.board.own.guard import PartitionSpec
from nandlab.board.own.tables import Doubt
from nandlab.board.own.transport import connect_ssh, write_file_on_board

DATA = PartitionSpec(standin.DATA, standin.DATA_BYTES, 128 << 10)
MODULES = ("mtd_blkdevs", "mtdblock", "mtdswap", "loop", "dm-mod")
EXT4 = ("crc32c_generic", "crc16", "mbcache", "jbd2", "ext4")
ALIAS, SWAP = "/tmp/flashdata", "/tmp/flashswap"
FORMAT = "flash_erase -q -j /dev/mtd1 0 0"
BUSYBOX = "/bin/busybox"
USES = {
    "an alias": (
        f"{FORMAT} && mount -t jffs2 {ALIAS} /mnt && grep -q '31:1 / /mnt .* {ALIAS}' "
        "/proc/self/mountinfo",
        "umount /mnt",
        f"mounted at /mnt, as '{ALIAS}'",
    ),
    "a mount that another process sees": (
        f"{BUSYBOX} unshare -m sh -c 'mount -t jffs2 {ALIAS} /mnt; echo >/tmp/up; exec sleep 600' "
        "</dev/null >/dev/null 2>&1 & echo $! >/tmp/pid; "
        "until [ -e /tmp/up ]; do sleep 1; done; ! grep -q ' 31:1 ' /proc/self/mountinfo",
        "kill $(cat /tmp/pid); rm /tmp/up /tmp/pid; sleep 1",
        f"mounted at /mnt, as '{ALIAS}'",
    ),
    "a loop over an alias": (
        f"{BUSYBOX} losetup /dev/loop3 {ALIAS}",
        f"{BUSYBOX} losetup -d /dev/loop3",
        f"by loop3, which is made of {ALIAS}",
    ),
    "dm": (
        f"/tmp/dmlinear x {ALIAS} 2048",
        "/tmp/dmlinear x",
        "by dm-0, which is made of mtdblock1",
    ),
    "dm, mounted": (
        f"/tmp/dmlinear x {ALIAS} 8192 && {BUSYBOX} mke2fs -F /dev/dm-0 >/dev/null && "
        "mount -t ext4 /dev/dm-0 /mnt",
        "umount /mnt && /tmp/dmlinear x",
        "mounted at /mnt, as '/dev/dm-0'",
    ),
    "swap on a translation layer": (
        f"insmod /tmp/mtdswap.ko partitions=1 && {BUSYBOX} mknod {SWAP} b "
        f"$(tr : ' ' </sys/block/mtdswap1/dev) && {BUSYBOX} mkswap {SWAP} >/dev/null && "
        f"{BUSYBOX} swapon {SWAP} && grep -q ^{SWAP} /proc/swaps",
        f"{BUSYBOX} swapoff {SWAP}; rmmod mtdswap; rm {SWAP}",
        f"for swap, as '{SWAP}'",
    ),
    "a node of another partition": (
        f"mv /dev/mtd1 /tmp/kept && {BUSYBOX} mknod /dev/mtd1 c 90 0",
        "rm /dev/mtd1; mv /tmp/kept /dev/mtd1",
        "/dev/mtd1 is the device 90:0",
    ),
}
"""How the partition is used, how it is free again, and what the guard says."""


def _prepare(there: There, folder: Path) -> None:
    """Brings modules of the board's own kernel, and a program that makes dm devices."""
    on = connect_ssh(standin.HOST)
    tests, system = Path(__file__).parents[1], standin.roots()[1].path
    argv = [f"{armhf.CROSS}gcc", "-static", "-s", "-o", "/out/dmlinear", "/c/dmlinear.c"]
    armhf.tools().checked(argv, see={"/c": tests / "c", "/out": folder})
    asyncio.run(write_file_on_board(on, "/tmp/dmlinear", (folder / "dmlinear").read_bytes(), "755"))
    names = [*MODULES, *EXT4]
    for name in names:
        (path,) = system.rglob(f"{name}.ko")
        asyncio.run(write_file_on_board(on, f"/tmp/{name}.ko", path.read_bytes()))
    loads = "; ".join(f"insmod /tmp/{name}.ko" for name in names if name != "mtdswap")
    there.says(f"{loads}; {BUSYBOX} mknod {ALIAS} b 31 1; [ -e /dev/loop3 ] && [ -b {ALIAS} ]")


@pytest.mark.long
@pytest.mark.timeout(8 * SLOW_S)
def test_a_partition_that_is_really_used_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def allowed() -> bool:
        mtd = asyncio.run(
            boardlock.read_erasable_partition(connect_ssh(standin.HOST), DATA, standin.DATA)
        )
        return (mtd.number, mtd.size) == (1, standin.DATA_BYTES)

    with reached(tmp_path, monkeypatch) as there:
        _prepare(there, tmp_path)
        assert allowed()
        for name, (use, leave, why) in USES.items():
            there.says(use)
            with pytest.raises(Doubt) as refused:
                allowed()
            assert why in str(refused.value), name
            there.says(leave)
            assert allowed(), name
