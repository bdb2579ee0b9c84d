# SPDX-License-Identifier: GPL-2.0-or-later
"""What a board's kernel wrote, node by node, is what the model packs and where it puts it."""

from __future__ import annotations

from pathlib import Path

import pytest
from readtraces import written

from nandlab.board.virtual.qemu import QemuBoard
from nandlab.flash.layouts import unpacking
from nandlab.flash.layouts.flashfile import (
    FlashFileOptions,
    open_flash_file_partition,
    read_flash_file_layout,
)
from nandlab.flash.layouts.jffs2scan import scan_partition_nodes
from nandlab.flash.layouts.layout import FilePiece, Layout
from nandlab.flash.reading import packers, rewrite
from nandlab.flash.reading.jffs2 import Jffs2Reader
from nandlab.flash.reading.reads import PAGE_BYTES

pytestmark = pytest.mark.board

PROGRAM = "dd if=/bin/busybox of=a bs=4k"


def content(layout: Layout, pieces: list[FilePiece]) -> bytes:
    assert layout.read_data is not None
    return b"".join(unpacking.unpack_file_piece(p, layout.read_data) for p in pieces)


@pytest.mark.parametrize(
    ("compression", "off_most", "shorter"),
    [
        ("lzo", 0, 0),
        ("zlib", 8, 0.06),
        pytest.param("none", 0, 0, marks=pytest.mark.long),
        pytest.param("default", 8, 0.03, marks=pytest.mark.long),
    ],
)
def test_jffs2s_nodes(
    board: QemuBoard, tmp_path: Path, compression: str, off_most: int, shorter: float
) -> None:
    """The host's zlib finds matches that the kernel's does not: some nodes are a byte shorter, and
    where a block cuts one, that byte decides what more is taken."""
    filesystem = {"name": "jffs2", "compression": compression}
    image = written(board, tmp_path / "chip", [PROGRAM], filesystem=filesystem, partition_mib=8)
    layout, _ = read_flash_file_layout(image, FlashFileOptions(partition_mib=8), tolerant=True)
    found = scan_partition_nodes(open_flash_file_partition(image, 8)[0])
    (owner,) = layout.sizes
    lie = layout.pieces_by_owner[owner]
    begin, size = lie[0].at - Jffs2Reader.header, layout.erasesize
    of_all, off = content(layout, lie), []
    for p in lie:
        at = p.at - Jffs2Reader.header
        room = Jffs2Reader.compute_node_room(layout, at, found.summed(at - at % size, at))
        rest = of_all[p.offset : p.offset - p.offset % PAGE_BYTES + PAGE_BYTES]
        told = Jffs2Reader.packed(layout, rest, room)
        assert told is not None
        assert told.packing == p.packing
        off.append(max(abs(told.plain - p.bytes), abs(len(told.data) - p.stored)))
        if told.packing != "zlib":
            assert layout.read_data is not None
            assert told.data == layout.read_data(p.at, p.stored)
    assert len(lie) > len(of_all) // PAGE_BYTES
    assert max(off) <= off_most
    assert sum(each > 0 for each in off) <= shorter * len(off)
    if not off_most:
        told_all = rewrite.list_rewritten_nodes(
            layout, owner, begin % size, found.summed(begin - begin % size, begin)
        )
        assert [p._replace(at=p.at % size) for p in told_all] == [
            p._replace(at=p.at % size) for p in lie
        ]


@pytest.mark.parametrize(
    "compression",
    [
        "lzo",
        pytest.param("none", marks=pytest.mark.long),
        pytest.param("zlib", marks=pytest.mark.long),
    ],
)
def test_ubifs_nodes(board: QemuBoard, tmp_path: Path, compression: str) -> None:
    filesystem = {"name": "ubifs", "compression": compression, "reserve": "1"}
    image = written(board, tmp_path / "chip", [PROGRAM], filesystem=filesystem, partition_mib=16)
    layout, _ = read_flash_file_layout(image, FlashFileOptions(partition_mib=16), tolerant=True)
    (owner,) = layout.sizes
    by = "" if compression == "none" else compression
    assert layout.read_data is not None
    for p in layout.pieces_by_owner[owner]:
        told = packers.pack_for_ubifs(unpacking.unpack_file_piece(p, layout.read_data), by)
        assert (told.packing, told.data) == (p.packing, layout.read_data(p.at, p.stored))
