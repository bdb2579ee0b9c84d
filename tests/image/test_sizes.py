# SPDX-License-Identifier: GPL-2.0-or-later
"""How much of a chip an image takes: known pages, counted."""

from __future__ import annotations

import struct

import pytest

from nandlab.base.errors import NandlabError
from nandlab.catalog.chip import ChipModel
from nandlab.catalog.files import load_noun
from nandlab.flash.chip.image import ChipBlock, ChipGeometry, ChipImage
from nandlab.image.sizes import ImageSize, count_content_blocks, measure_image_size

GEOMETRY = ChipGeometry(512, 16, 16384, 2048)
"""That of the part NAND256W3A."""
PAGE, PAGES = 512 + 16, 32
DATA, ERASED = 0x81, 0


def chip() -> ChipModel:
    return load_noun("chips", "NAND256W3A", ChipModel)


def block(index: int, contents: dict[int, bytes]) -> ChipBlock:
    """A block with data in these pages, which begin so."""
    cells = bytearray(b"\xff" * (PAGE * PAGES))
    for page, content in contents.items():
        cells[page * PAGE : page * PAGE + len(content)] = content
    states = [DATA if page in contents else ERASED for page in range(PAGES)]
    return ChipBlock(index, 1, 0, 0, [], states, bytes(cells))


def counter(vid_offset: int) -> bytes:
    """UBI's header with an erase counter, as far as the other header's offset."""
    return b"UBI#" + bytes(12) + struct.pack(">I", vid_offset)


def counted(*blocks: ChipBlock) -> ImageSize:
    return measure_image_size(ChipImage(GEOMETRY, 0, 0, 0, list(blocks)), chip())


def test_pages_that_hold_data_are_counted() -> None:
    untouched = ChipBlock(0, 1, 0, 0, [], [], b"")
    assert counted(untouched, block(1, {0: b"x", 5: b"y"}), block(7, {0: b"z"})) == ImageSize(
        pages=3, own_header_pages=0, bytes=3 * 512
    )


def test_headers_of_ubi_in_two_pages_are_told_apart() -> None:
    full = block(1, {0: counter(512), 1: b"UBI!", 2: b"data", 3: b"data"})
    free = block(2, {0: counter(512)})
    assert counted(full, free) == ImageSize(pages=5, own_header_pages=3, bytes=2 * 512)


def test_headers_of_ubi_in_one_page_are_one_page() -> None:
    both = counter(256) + bytes(256 - 20) + b"UBI!"
    assert counted(block(1, {0: both, 1: b"data"})) == ImageSize(2, 1, 512)


def test_data_that_looks_like_a_header_is_data() -> None:
    """A file may hold an image of UBI: only where UBI writes its headers are they headers."""
    quoted = block(1, {0: counter(512), 1: b"UBI!", 2: b"UBI#", 3: b"UBI!"})
    assert counted(quoted) == ImageSize(4, 2, 2 * 512)
    assert counted(block(1, {0: b"text", 1: b"UBI!"})).own_header_pages == 0
    assert counted(block(1, {0: counter(1 << 20)})).own_header_pages == 1


def test_blocks_of_ubis_own_volume_are_no_content() -> None:
    table, data = struct.pack(">I", 0x7FFFEFFF), struct.pack(">I", 0)
    of_table = block(1, {0: counter(512), 1: b"UBI!" + bytes(4) + table, 2: b"x"})
    of_data = block(2, {0: counter(512), 1: b"UBI!" + bytes(4) + data, 2: b"x"})
    free, bare = block(3, {0: counter(512)}), block(4, {0: b"x"})
    untouched = ChipBlock(0, 1, 0, 0, [], [], b"")
    blocks = [untouched, of_table, of_data, free, bare]
    assert count_content_blocks(ChipImage(GEOMETRY, 0, 0, 0, blocks)) == 2


def test_an_image_of_another_chip_is_refused() -> None:
    with pytest.raises(NandlabError, match="not NAND256W3A's geometry"):
        measure_image_size(ChipImage(ChipGeometry(2048, 64, 131072, 1024), 0, 0, 0, []), chip())
