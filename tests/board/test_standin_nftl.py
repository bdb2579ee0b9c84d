# SPDX-License-Identifier: GPL-2.0-or-later
"""NFTL on a partition of an emulated ARM board, used for real: the guard refuses each use.

Debian's kernel for ARM has no NFTL, so it is built for that kernel from its locked source. NFTL
keeps its marks where nandsim's ECC lies: the stand-in's chip is changed for a simulated one.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from standinssh import SLOW_S, There, reached
from support import armhf, standin

from nandlab.board.jobs.build import build_kernel_modules
from nandlab.board.kit.kit import fetch_board_kit
from nandlab.board.kit.partsource import parse_source_words
from nandlab.board.own import boardlock
from nandlab.board.own.flash import NFTL_NAME
from nandlab.board.own.guard import PartitionSpec
from nandlab.board.own.tables import Doubt
from nandlab.board.own.transport import connect_ssh, write_file_on_board
from nandlab.board.virtual.partset import build_parts
from nandlab.catalog.board import BoardModel
from nandlab.catalog.chip import ChipModel
from nandlab.catalog.files import load_noun
from nandlab.flash.chip.simnand import make_chip_module_parameters

CHIP = load_noun("chips", "nandsim-small", ChipModel)
BLOCKS = 512
DATA = PartitionSpec(NFTL_NAME, BLOCKS * CHIP.geometry.erasesize, CHIP.geometry.erasesize)
MODULES = ("mtd_blkdevs", "dm-mod", "crc32c_generic", "crc16", "mbcache", "jbd2", "ext4")
BUSYBOX = "/bin/busybox"
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


def build_modules() -> list[Path]:
    """NFTL and the simulated chip for the stand-in's kernel, which is the board apf27-arm's."""
    model = load_noun("boards", "apf27-arm", BoardModel)
    kit = fetch_board_kit(model, locked=True, source=True)
    nftl = build_parts(model, kit, parse_source_words(["nftl=package"], "--source"))["nftl"]
    return [*nftl.modules.paths, *build_kernel_modules(kit.tools, "simnand", kit.kernel)]


def format_chip_parameters() -> str:
    """The chip's, in memory of the kernel, for a board whose clock is a real one."""
    parameters = make_chip_module_parameters(CHIP, BLOCKS, 0, "typical")
    chip = {"blocks": BLOCKS, "partition_name": NFTL_NAME, "wait": "spin"}
    return " ".join(f"{name}={value}" for name, value in (parameters | chip).items())


def prepare(there: There, folder: Path) -> None:
    """Brings NFTL with what makes and stacks on its device, and changes the chip for its pages."""
    on = connect_ssh(standin.HOST)
    tests, system = Path(__file__).parents[1], standin.roots()[1].path
    argv = [f"{armhf.CROSS}gcc", "-static", "-s", "-o", "/out/dmlinear", "/c/dmlinear.c"]
    armhf.tools().checked(argv, see={"/c": tests / "c", "/out": folder})
    paths = {path.stem: path for path in build_modules()}
    paths |= {name: next(system.rglob(f"{name}.ko")) for name in MODULES}
    for name, path in paths.items():
        asyncio.run(write_file_on_board(on, f"/tmp/{name}.ko", path.read_bytes()))
    tools = {"dmlinear": folder / "dmlinear", "nftl_format": system / "usr/sbin/nftl_format"}
    for name, path in tools.items():
        asyncio.run(write_file_on_board(on, f"/tmp/{name}", path.read_bytes(), "755"))
    there.says("; ".join(f"insmod /tmp/{name}.ko" for name in MODULES))
    there.says(f"rmmod nandsim && insmod /tmp/simnand.ko {format_chip_parameters()}")
    mtd = there.says(f"sed -n 's/:.*{NFTL_NAME}.*//p' /proc/mtd").strip()
    there.says(f"/tmp/nftl_format -b /dev/{mtd} > /dev/null")


@pytest.mark.long
@pytest.mark.timeout(8 * SLOW_S)
def test_a_partition_that_nftl_really_uses_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def allowed() -> bool:
        reached = connect_ssh(standin.HOST)
        mtd = asyncio.run(boardlock.read_erasable_partition(reached, DATA, NFTL_NAME))
        return (mtd.name, mtd.size) == (NFTL_NAME, DATA.size)

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
