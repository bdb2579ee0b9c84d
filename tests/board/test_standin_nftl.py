# SPDX-License-Identifier: GPL-2.0-or-later
"""NFTL on a partition of an emulated ARM board, used for real: the guard refuses each use.

Debian's kernel for ARM has no NFTL, and NFTL binds to chips called DiskOnChip alone. So it is
built for that kernel from its locked source, patched to take the stand-in's chip, which is changed
for one of NFTL's pages of 512 bytes.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import armhf
import pytest
import standin
from standinssh import SLOW_S, There, reached

from nandlab.board.own import boardlock
from nandlab.board.own.guard import PartitionSpec
from nandlab.board.own.tables import Doubt
from nandlab.board.own.transport import connect_ssh, write_file_on_board
from nandlab.board.virtual.partset import build_parts
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import load_noun
from nandlab.kit.kit import fetch_board_kit
from nandlab.kit.partsource import add_patches

ERASE_BYTES, BLOCKS = 16 << 10, 512
DATA = PartitionSpec(standin.DATA, BLOCKS * ERASE_BYTES, ERASE_BYTES)
CHIP = "first_id_byte=0x20 second_id_byte=0x36"
"""64 MiB, pages of 512 bytes, erase blocks of 16 KiB."""
MODULES = ("mtd_blkdevs", "dm-mod", "crc32c_generic", "crc16", "mbcache", "jbd2", "ext4")
BUSYBOX = "/bin/busybox"
PATCH = """\
--- a/drivers/mtd/nftlcore.c
+++ b/drivers/mtd/nftlcore.c
@@ -43 +43 @@
-	if (memcmp(mtd->name, "DiskOnChip", 10))
+	if (strcmp(mtd->name, "NAND simulator partition 1"))
"""
EXT2 = f"{BUSYBOX} mke2fs -F"
USES = {
    "mounted": (
        f"{EXT2} /dev/nftla >/dev/null && mount -t ext4 /dev/nftla /mnt",
        "umount /mnt",
        "mounted at /mnt, as '/dev/nftla'",
    ),
    "mounted by another name": (
        f"{BUSYBOX} mknod /tmp/other b $(tr : ' ' </sys/block/nftla/dev) && "
        "mount -t ext4 /tmp/other /mnt",
        "umount /mnt; rm /tmp/other",
        "mounted at /mnt, as '/tmp/other'",
    ),
    "dm": (
        "/tmp/dmlinear x /dev/nftla 2048",
        "/tmp/dmlinear x",
        "by dm-0, which is made of nftla",
    ),
    "dm, mounted": (
        f"/tmp/dmlinear x /dev/nftla 2048 && {EXT2} /dev/dm-0 >/dev/null && "
        "mount -t ext4 /dev/dm-0 /mnt",
        "umount /mnt && /tmp/dmlinear x",
        "mounted at /mnt, as '/dev/dm-0'",
    ),
}
"""How NFTL's device is used, how it is free again, and what the guard says."""


def build_nftl(folder: Path) -> Path:
    """NFTL for the stand-in's kernel, which is that of the board apf27-arm."""
    (folder / "nftl.diff").write_text(PATCH)
    model = load_noun("boards", "apf27-arm", BoardModel)
    requests = add_patches({}, [folder / "nftl.diff"], "--patch")
    kit = fetch_board_kit(model, locked=True, source=True)
    (path,) = build_parts(model, kit, requests)["nftl"].modules.paths
    return path


def prepare(there: There, folder: Path) -> None:
    """Brings NFTL with what makes and stacks on its device, and changes the chip for its pages."""
    on = connect_ssh(standin.HOST)
    tests, system = Path(__file__).parents[1], standin.roots()[1].path
    argv = [f"{armhf.CROSS}gcc", "-static", "-s", "-o", "/out/dmlinear", "/c/dmlinear.c"]
    armhf.tools().checked(argv, see={"/c": tests / "c", "/out": folder})
    paths = {"nftl": build_nftl(folder)}
    paths |= {name: next(system.rglob(f"{name}.ko")) for name in MODULES}
    for name, path in paths.items():
        asyncio.run(write_file_on_board(on, f"/tmp/{name}.ko", path.read_bytes()))
    tools = {"dmlinear": folder / "dmlinear", "nftl_format": system / "usr/sbin/nftl_format"}
    for name, path in tools.items():
        asyncio.run(write_file_on_board(on, f"/tmp/{name}", path.read_bytes(), "755"))
    there.says("; ".join(f"insmod /tmp/{name}.ko" for name in MODULES))
    there.says(f"rmmod nandsim && insmod /modules/nandsim.ko {CHIP} parts=512,{BLOCKS}")
    there.says("flash_erase -q /dev/mtd1 0 0 && /tmp/nftl_format /dev/mtd1 >/dev/null")


@pytest.mark.long
@pytest.mark.timeout(8 * SLOW_S)
def test_a_partition_that_nftl_really_uses_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def allowed() -> bool:
        mtd = asyncio.run(
            boardlock.read_erasable_partition(connect_ssh(standin.HOST), DATA, standin.DATA)
        )
        return (mtd.number, mtd.size) == (1, DATA.size)

    with reached(tmp_path, monkeypatch) as there:
        prepare(there, tmp_path)
        assert allowed()
        there.says("insmod /tmp/nftl.ko && [ -b /dev/nftla ]")
        assert allowed()
        for name, (use, leave, why) in USES.items():
            there.says(use)
            with pytest.raises(Doubt) as refused:
                allowed()
            assert why in str(refused.value), name
            there.says(leave)
            assert allowed(), name
        there.says("rmmod nftl")
        assert allowed()
