# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests of dumps share: two shapes of chips, and a look at each page that counts as known."""

from __future__ import annotations

from pathlib import Path

from nandlab.flash.layouts.flashfile import (
    FlashFileOptions,
    open_flash_file_partition,
    read_flash_file_layout,
)
from nandlab.flash.layouts.layout import HOLE
from nandlab.flash.layouts.shape import Shape
from nandlab.flash.reading.fragments import map_file_pages
from nandlab.flash.reading.reads import PAGE_BYTES, FilePieces
from support.jffs2made import Made

LARGE, SMALL = Shape(2048, 65536, 64), Shape(512, 16384, 16)


def as_file(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def known_pages(path: Path, shape: Shape, truth: Made, mib: float | None = None) -> int:
    """Pages that count as known, each of which must have the bytes that were written to it."""
    asked = FlashFileOptions(None, mib, shape)
    layout, dropped = read_flash_file_layout(path, asked, tolerant=True)
    partition, _ = open_flash_file_partition(path, mib, shape)
    count = 0
    for number, path_of in layout.paths.items():
        if number not in layout.sizes:
            continue
        assert path_of == f"/file{number}"
        rows = map_file_pages(layout, number, dropped).rows
        pieces = FilePieces(layout, number)
        expected = bytes(truth.files[number])
        for row in (r for r in rows if r.is_known):
            at = row.page * PAGE_BYTES
            content = bytearray(min(PAGE_BYTES, pieces.size - at))
            for p in pieces.list_pieces(row.page):
                assert p.packing != HOLE
                block, start = divmod(p.at + p.skip, partition.erasesize)
                own = partition.data(block)[start : start + p.bytes]
                content[p.offset - at : p.offset - at + p.bytes] = own
            assert bytes(content) == expected[at : at + len(content)], (path_of, row)
            count += 1
    return count
