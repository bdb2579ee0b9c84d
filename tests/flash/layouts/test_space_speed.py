# SPDX-License-Identifier: GPL-2.0-or-later
"""128 MiB of small pages are read within 5 s of a processor, and within 1 GiB of RAM."""

from __future__ import annotations

import resource
import time

import pytest
from test_space import head1, tags1

from nandlab.flash.chip import image as chipimage
from nandlab.flash.chip.image import ChipBlock, ChipGeometry, ChipImage
from nandlab.flash.layouts.cells import Partition
from nandlab.flash.layouts.decoders import decode_layout
from nandlab.flash.layouts.layout import ByteKind

GEOMETRY = ChipGeometry(512, 16, 16384, 8192)
PAGES = 32
FIRST = 257
"""Number of the first object that a user makes."""


def full() -> ChipImage:
    """A block a file: its header, and 31 pages of data."""
    data = b"D" * 512
    blocks = []
    for index in range(GEOMETRY.blocks):
        number = FIRST + index
        cells = [head1(b"f%d" % index, 31 * 512), tags1(number, 0, 512)]
        for chunk in range(1, PAGES):
            cells += [data, tags1(number, chunk, 512)]
        blocks.append(ChipBlock(index, 0, 0, 0, [], [0x81] * PAGES, b"".join(cells)))
    return ChipImage(GEOMETRY, 0, 0, 0, blocks)


@pytest.mark.long
def test_128_mib_are_read_soon_and_in_little_memory() -> None:
    packed = chipimage.encode_chip_image(full())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.process_time()
    layout = decode_layout(Partition(chipimage.decode_chip_image(packed)), "yaffs2")
    layout.sums()
    took = time.process_time() - began
    assert layout.sums()[ByteKind.USER] == GEOMETRY.blocks * 31 * 512
    assert took < 5
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert held < before + (1 << 20)
