# SPDX-License-Identifier: GPL-2.0-or-later
"""Each kind of image is summed to the byte, and what the kernel lists is what the decoder reads."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import smalltrial
from support.dumpsteps import as_file
from support.imagekinds import KINDS, MTD_UTILS, Kind
from support.smalltrial import skip_where_refused
from typer.testing import CliRunner, Result

from nandlab.board.virtual.qemu import QemuBoard
from nandlab.cli.image import image_app
from nandlab.flash.layouts.flashfile import FlashFileOptions, read_flash_file_layout

MIB = 1 << 20
QUICK = ("jffs2, by the kernel", "ubi of three volumes", "ubi, a torn copy", "squashfs")
QUICK_YAFFS2 = "yaffs2, tags as mxc, big-endian"
MOUNTED = [
    pytest.param(name, marks=() if name in (*QUICK, QUICK_YAFFS2) else pytest.mark.long)
    for name in KINDS
]
"""Each takes two jobs of the board, so most are for the long run."""
SUMMED = [pytest.param(n, marks=pytest.mark.board if n in MTD_UTILS else ()) for n in KINDS]
"""mtd-utils run in the root of the board's tools."""


@pytest.mark.parametrize("name", SUMMED)
def test_each_kind_is_summed_to_the_byte(tmp_path: Path, name: str) -> None:
    kind = KINDS[name]
    data = kind.make(tmp_path)
    stride = kind.shape.page + kind.shape.oob
    block = kind.shape.erase_block // kind.shape.page * stride
    blocks = -(-len(data) // block)
    mib = blocks * kind.shape.erase_block / MIB
    options = FlashFileOptions(None, mib, kind.shape, kind.volume)
    layout, dropped = read_flash_file_layout(as_file(tmp_path / "dump", data), options)
    assert dropped == []
    assert sum(layout.sums().values()) == blocks * kind.shape.erase_block
    assert len(layout.paths) > 2 or not kind.is_decoded
    if kind.is_decoded and name in MTD_UTILS:
        assert {p.strip("/") for p in layout.names} == list_paths(tmp_path / "tree")


@pytest.mark.board
@pytest.mark.parametrize("name", MOUNTED)
def test_the_kernel_lists_what_the_decoder_reads(
    board: QemuBoard, tmp_path: Path, name: str
) -> None:
    kind = KINDS[name]
    if kind.filesystem in smalltrial.WRITABLE:
        skip_where_refused(smalltrial.medium(board, kind.filesystem), board)
    image = tmp_path / "image.nand"
    imported = import_kind(kind, tmp_path, image, board.machine.model.name)
    if kind.refusal:
        assert imported.exit_code == 1
        assert kind.refusal in str(imported.exception)
        return
    assert imported.exit_code == 0, imported.output
    lines = run("ls", image).stdout.splitlines()
    listed = {line[52:].partition(" -> ")[0]: line for line in lines}
    sizes = {path: int(line[20:31]) for path, line in listed.items() if line.startswith("-")}
    assert len(sizes) > 2
    if name in MTD_UTILS:
        tree = tmp_path / "tree"
        assert listed.keys() == list_paths(tree)
        assert sizes == {path: (tree / path).stat().st_size for path in sizes}
    if kind.is_decoded:
        # a chip of several volumes has the imported one as data
        options = FlashFileOptions(volume="data" if kind.volume else None)
        layout, _ = read_flash_file_layout(image, options)
        own = {path.strip("/"): layout.sizes.get(n) for path, n in layout.names.items()}
        assert own.keys() - {"lost+found"} == listed.keys()
        assert sizes == {path: own[path] or 0 for path in sizes}
    out = tmp_path / "extracted"
    assert run("extract", image, "--to", out).exit_code == 0
    assert list_paths(out) == listed.keys()


def list_paths(top: Path) -> set[str]:
    """All below a folder."""
    return {str(p.relative_to(top)) for p in top.rglob("*")}


def import_kind(kind: Kind, folder: Path, image: Path, board: str) -> Result:
    """Imports what is made of a kind."""
    dump = as_file(folder / "dump", kind.make(folder))
    words = ["--page", kind.shape.page, "--erase-block", kind.shape.erase_block]
    words += ["--oob", kind.shape.oob, "--chip", kind.part, "--board", board, "-o", image]
    words += ["--partition-mib", kind.partition_mib] if kind.partition_mib else []
    words += ["--volume", kind.volume] if kind.volume else []
    return run("import", dump, *words)


def run(*argv: object) -> Result:
    return CliRunner().invoke(image_app, [str(a) for a in argv])
