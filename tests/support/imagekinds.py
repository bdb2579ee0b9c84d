# SPDX-License-Identifier: GPL-2.0-or-later
"""Every kind of image that people bring: by mtd-utils, by the board's kernel, and forged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from nandlab.board.virtual.hosttools import HostTools
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import load_noun
from nandlab.flash.layouts.shape import Shape
from support import trees, ubimade
from support.dumpsforged import FREE_BYTES, SHAPE_OF_YAFFS2, make_driver_dump, make_product_device
from support.flashsamples import BLOCKS, chip

SMALL = Shape(512, 16384, 16)
DATA_ONLY = SMALL._replace(oob=0)
SMALL_MIB = 8.0
TREE = "0123456789abcdef" * 4
JFFS2 = "mkfs.jffs2 --eraseblock=16KiB --root=/in/tree --output=/in/out"
UBIFS = "mkfs.ubifs --min-io-size=512 --leb-size=15872 --max-leb-cnt=300 --root=/in/tree"
SQUASHFS = "mksquashfs /in/tree /in/squashfs -noappend -quiet -no-progress -processors 1"
EROFS = "mkfs.erofs -zlz4hc /in/erofs /in/tree"
UBINIZE = "ubinize --output=/in/out --min-io-size=512 --peb-size=16384 --sub-page-size=256 /in/cfg"


class Kind(NamedTuple):
    """A kind of image."""

    by: str
    """Who makes it."""
    part: str
    shape: Shape
    make: Callable[[Path], bytes]
    """Makes it in an empty folder."""
    filesystem: str
    partition_mib: float | None = None
    volume: str | None = None
    refusal: str = ""
    """Words of the reason if the kernel here cannot mount it; empty: it does."""
    is_decoded: bool = True
    """Whether a decoder reads it."""


def run_tools(*lines: str, config: str = "") -> Callable[[Path], bytes]:
    """What tools make of a tree: they see its folder as /in, and write /in/out."""

    def make(folder: Path) -> bytes:
        (folder / "tree").mkdir()
        trees.grow(folder / "tree", odd=False)
        (folder / "cfg").write_text(config)
        tools = HostTools(load_noun("boards", "apf27", BoardModel), {"/in": folder}, TREE)
        for line in lines:
            tools.run(line)
        return (folder / "out").read_bytes()

    return make


def format_volume(number: int, name: str, image: str, kind: str = "dynamic", more: str = "") -> str:
    """A section of ubinize's configuration."""
    return (
        f"[{name}]\nmode=ubi\nimage=/in/{image}\nvol_id={number}\nvol_type={kind}\n"
        f"vol_name={name}\n{more}\n"
    )


def make_torn_device(_: Path) -> bytes:
    """UBI was moving a block when the power went: the older copy holds."""
    device = make_product_device()
    device.copy(device.held(0, 10), whole=False)
    return device.dump()


def make_driver_kind(driver: str, order: str) -> Callable[[Path], bytes]:
    """YAFFS2 as a driver and a processor's byte order have it."""
    return lambda _: make_driver_dump(driver, order)


def make_sample(layout: str) -> Callable[[Path], bytes]:
    """What the board's kernel wrote, as nanddump reads it."""
    return lambda _: chip(layout).nanddump(BLOCKS[layout])


ROOTFS = format_volume(0, "rootfs", "rootfs", more="vol_size=4MiB")
SEVERAL = (
    format_volume(1, "kernel", "kernel", "static")
    + ROOTFS
    + format_volume(2, "rootfs_data", "empty", more="vol_size=1MiB\nvol_flags=autoresize")
)
MTD_UTILS = {
    "jffs2": ("mkfs.jffs2 --little-endian, not padded", [f"{JFFS2} --little-endian"], ""),
    "jffs2, padded": (
        "mkfs.jffs2 --little-endian --pad",
        [f"{JFFS2} --little-endian --pad=0x400000"],
        "",
    ),
    "jffs2, summaries": (
        "mkfs.jffs2, then sumtool",
        [
            f"{JFFS2[:-3]}plain --little-endian",
            "sumtool --eraseblock=16KiB --littleendian -i /in/plain -o /in/out",
        ],
        "",
    ),
    "jffs2, big-endian": ("mkfs.jffs2 --big-endian", [f"{JFFS2} --big-endian"], ""),
    "ubifs": ("mkfs.ubifs, ubinize", [f"{UBIFS} --output=/in/rootfs", UBINIZE], ROOTFS),
    "ubifs -F": ("mkfs.ubifs -F, ubinize", [f"{UBIFS} -F --output=/in/rootfs", UBINIZE], ROOTFS),
    "ubi of three volumes": (
        "mkfs.ubifs, ubinize: kernel static, rootfs, rootfs_data",
        [
            f"{UBIFS} --output=/in/rootfs",
            "mkfs.ubifs --min-io-size=512 --leb-size=15872 --max-leb-cnt=60 --output=/in/empty",
            "cp /in/tree/big /in/kernel",
            UBINIZE,
        ],
        SEVERAL,
    ),
    "squashfs": (
        "mksquashfs, ubinize",
        [SQUASHFS, UBINIZE],
        format_volume(0, "rootfs", "squashfs", "static"),
    ),
    "erofs": ("mkfs.erofs, ubinize", [EROFS, UBINIZE], format_volume(0, "rootfs", "erofs")),
}
"""Kind -> the tools, their command lines, and ubinize's configuration."""
HOW: dict[str, dict[str, Any]] = {
    "jffs2, big-endian": {"refusal": "does not mount"},
    "ubi of three volumes": {"volume": "rootfs"},
    "squashfs": {"is_decoded": False},
    "erofs": {"is_decoded": False},
}
FORGED = {
    "ubi, a torn copy": Kind(
        "a forge of headers", "nandsim-small", ubimade.SHAPE, make_torn_device, "ubifs"
    ),
    **{
        f"yaffs2, tags as {driver}, {name}-endian": Kind(
            "a forge of tags",
            "S34ML02G1",
            SHAPE_OF_YAFFS2,
            make_driver_kind(driver, order),
            "yaffs2",
        )
        for driver in FREE_BYTES
        for name, order in (("little", "<"), ("big", ">"))
    },
}
WRITTEN = {
    f"{layout}, by the kernel": Kind("the board's kernel", part, shape, make_sample(layout), fs)
    for layout, part, shape, fs in (
        ("jffs2", "S34ML02G1", SHAPE_OF_YAFFS2, "jffs2"),
        ("ubifs", "nandsim-small", SMALL, "ubifs"),
        ("yaffs1", "nandsim-small", SMALL, "yaffs2"),
        ("nftl-fat32", "nandsim-small", SMALL, "nftl-fat32"),
    )
}
KINDS: dict[str, Kind] = {
    **{
        name: Kind(
            by,
            "nandsim-small",
            DATA_ONLY,
            run_tools(*lines, config=config),
            name.split()[0].rstrip(",") if not name.startswith("ubi of") else "ubifs",
            SMALL_MIB,
            **HOW.get(name, {}),
        )
        for name, (by, lines, config) in MTD_UTILS.items()
    },
    **FORGED,
    **WRITTEN,
}
"""By name."""
