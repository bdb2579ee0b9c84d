# SPDX-License-Identifier: GPL-2.0-or-later
"""What the host's checker makes of pages and nodes that a cut left torn."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from support.jffs2made import Made

from nandlab.catalog.chip import Ecc
from nandlab.catalog.powerpromise import Checksums
from nandlab.flash.chip.image import ChipBlock, ChipGeometry, ChipImage
from nandlab.flash.layouts.cells import GARBLED_PAGE, Partition
from nandlab.flash.layouts.shape import Shape
from nandlab.flash.layouts.yaffs2 import TAGS_AT, TAGS_BYTES, compute_tags_ecc
from nandlab.powercut.hostcheck import apply_ecc_to_chip, read_partition_files

PAGE = b"d" * 512 + b"s" * 16


@pytest.mark.parametrize("checksums", get_args(Checksums))
def test_pages_beyond_the_ecc_are_as_a_file_system_takes_them(checksums: Checksums) -> None:
    """Sound; one wrong bit, which is corrected; two, which are not; garbled."""
    flips = [(5, 9), (6, 0), (6, 17)]
    block = ChipBlock(1, 0, 0, 0, flips, [1, 1, 1, 1 | GARBLED_PAGE], 4 * PAGE)
    chip = ChipImage(ChipGeometry(512, 16, 4 * 512, 2), 0, 0, 0, [block])
    (block,) = apply_ecc_to_chip(chip, Ecc(strength=1, step=512), checksums).blocks
    pages = [block.cells[i : i + 528] for i in range(0, 4 * 528, 528)]
    assert pages[:2] == [PAGE, PAGE]
    assert (block.flips, block.states) == ([(5, 9)], [1, 1, 1, 1])
    unread = bytes(b ^ 0xFF for b in b"d" * 512) + b"s" * 16
    flipped = bytes([ord("d") ^ 1, ord("d"), ord("d") ^ 2]) + PAGE[3:]
    assert (
        pages[2:]
        == {
            "all": [flipped, PAGE],
            "tags": [unread, b"\xff" * 528],
            "none": [unread, unread],
        }[checksums]
    )


@pytest.mark.parametrize(("bits", "taken"), [([], True), ([3], True), ([3, 40], False)])
def test_tags_with_a_checksum_are_taken_from_a_page_that_no_ecc_corrects(
    bits: list[int], taken: bool
) -> None:
    """YAFFS2 reads tags alone, and believes what their code says of them, whatever the data are."""
    data, tags = b"d" * 2048, bytes(range(TAGS_BYTES))
    code: bytes = (
        compute_tags_ecc(np.frombuffer(tags, dtype=np.uint8)[None, :])[0].astype("<u4").tobytes()
    )
    spare = (b"\xff" * TAGS_AT + tags + code).ljust(64, b"\xff")
    torn = bytearray(spare)
    for bit in bits:
        torn[TAGS_AT + bit // 8] ^= 1 << bit % 8
    block = ChipBlock(0, 0, 0, 0, [], [1 | GARBLED_PAGE], data + torn)
    chip = ChipImage(ChipGeometry(2048, 64, 2048, 1), 0, 0, 0, [block])
    (block,) = apply_ecc_to_chip(chip, Ecc(strength=1, step=512), "tags").blocks
    unread = bytes(b ^ 0xFF for b in data) + spare
    assert block.cells == (unread if taken else b"\xff" * 2112)


def test_a_file_is_as_long_as_its_sound_nodes_say() -> None:
    """As for a mount: the torn node that would have made it longer is not there."""
    of = Made(Shape(page=512, erase_block=8192, oob=16), blocks=1)
    of.name(2, b"a")
    of.write(2, 0, b"o" * 4096)
    torn = len(of.data)
    of.write(2, 4096, b"n" * 500)
    of.data[torn + 60] ^= 1  # of its data's checksum
    block = ChipBlock(0, 0, 0, 0, [], [1] * 16, of.dump())
    chip = ChipImage(ChipGeometry(512, 16, 8192, 1), 0, 0, 0, [block])
    assert read_partition_files(Partition(chip), "jffs2") == {"a": b"o" * 4096}
