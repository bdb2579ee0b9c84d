# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel lists of an imported dump is what the decoder reads of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support import smalltrial, ubimade
from support.dumpsforged import SHAPE_OF_YAFFS2, make_driver_dump, make_product_device
from support.dumpsteps import as_file
from support.flashsamples import BLOCKS, chip
from support.smalltrial import skip_where_refused
from typer.testing import CliRunner

from nandlab.board.virtual.qemu import QemuBoard
from nandlab.cli.image import image_app
from nandlab.flash.layouts.flashfile import FlashFileOptions, read_flash_file_layout
from nandlab.flash.layouts.shape import Shape

pytestmark = pytest.mark.board


def make_torn_device() -> bytes:
    """UBI was moving a block when the power went: the older copy holds."""
    device = make_product_device()
    device.copy(device.held(0, 10), whole=False)
    return device.dump()


def dump_sample(layout: str) -> bytes:
    return chip(layout).nanddump(BLOCKS[layout])


SMALL = Shape(512, 16384, 16)
DUMPS: dict[str, tuple[str, Shape, Callable[[], bytes]]] = {
    "jffs2": ("S34ML02G1", SHAPE_OF_YAFFS2, lambda: dump_sample("jffs2")),
    "two volumes, a torn copy": ("nandsim-small", ubimade.SHAPE, make_torn_device),
    "yaffs2 among ECC, big-endian": (
        "S34ML02G1",
        SHAPE_OF_YAFFS2,
        lambda: make_driver_dump("mxc", ">"),
    ),
}
LONG = {
    "yaffs2 of a tool": (
        "S34ML02G1",
        SHAPE_OF_YAFFS2,
        lambda: make_driver_dump("image tool", "<"),
    ),
    "yaffs1": ("nandsim-small", SMALL, lambda: dump_sample("yaffs1")),
    "nftl-fat32": ("nandsim-small", SMALL, lambda: dump_sample("nftl-fat32")),
}
CASES = [*DUMPS, *(pytest.param(name, marks=pytest.mark.long) for name in LONG)]
FILESYSTEMS = {"two volumes, a torn copy": "ubifs", "nftl-fat32": "nftl-fat32", "jffs2": "jffs2"}


@pytest.mark.parametrize("case", CASES)
def test_the_kernel_lists_what_the_decoder_reads(
    board: QemuBoard, tmp_path: Path, case: str
) -> None:
    skip_where_refused(smalltrial.medium(board, FILESYSTEMS.get(case, "yaffs2")), board)
    part, shape, make = (DUMPS | LONG)[case]
    dump, image = as_file(tmp_path / "dump", make()), tmp_path / "image.nand"
    words = ["--page", shape.page, "--erase-block", shape.erase_block, "--oob", shape.oob]
    name = board.machine.model.name
    run("import", dump, *words, "--chip", part, "--board", name, "-o", image)
    lines = run("ls", image).splitlines()
    layout, _ = read_flash_file_layout(image, FlashFileOptions())
    own = {path.strip("/"): layout.sizes.get(n) for path, n in layout.names.items()}
    listed = {line[52:].partition(" -> ")[0]: line for line in lines}
    assert own.keys() - {"lost+found"} == listed.keys()
    sizes = {path: int(line[20:31]) for path, line in listed.items() if line.startswith("-")}
    assert sizes == {path: own[path] or 0 for path in sizes}
    assert len(sizes) > 2
    out = tmp_path / "out"
    run("extract", image, "--to", out)
    assert {str(p.relative_to(out)) for p in out.rglob("*")} == listed.keys()


def run(*argv: object) -> str:
    done = CliRunner().invoke(image_app, [str(a) for a in argv], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout
