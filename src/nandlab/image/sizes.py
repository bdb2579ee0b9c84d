# SPDX-License-Identifier: GPL-2.0-or-later
"""How much of a chip an image takes, and how much of that are UBI's own headers.

UBI writes two headers into every block: the first page begins with one (``UBI#``, the block's erase
counter), and that one tells where the other is (``UBI!``, which logical block it holds): in another
page, or in the same one. They are there whatever the tree has, so a sum of pages that includes them
says less of the compression the larger the partition is.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from nandlab.base.errors import NandlabError
from nandlab.catalog.chip import ChipModel
from nandlab.flash.chip.image import ChipBlock, ChipGeometry, ChipImage
from nandlab.flash.chip.imagefile import PAGE_HAS_DATA

EC_MAGIC, VID_MAGIC = b"UBI#", b"UBI!"
VID_OFFSET = struct.Struct(">I")
VOLUME_AT = 8
"""Where the second header tells its block's volume."""
TABLE_VOLUME, TABLE_BLOCKS = 0x7FFFEFFF, 2
"""UBI's own volume, which has the table of the others, and its blocks."""
VID_OFFSET_AT = 16
"""Where the first header tells the other's offset in the block (drivers/mtd/ubi/ubi-media.h)."""


@dataclass(frozen=True)
class ImageSize:
    """How much of a chip an image takes."""

    pages: int
    """Pages that hold data, UBI's headers among them."""
    own_header_pages: int
    """Pages that hold UBI's headers and nothing else; 0 where there is no UBI."""
    bytes: int
    """Bytes of the pages without UBI's headers, spare areas not counted."""


def measure_image_size(image: ChipImage, chip: ChipModel) -> ImageSize:
    """What an image takes of a chip; NandlabError if the image is of a chip of another geometry."""
    g = chip.geometry
    if image.geometry != ChipGeometry(g.writesize, g.oobsize, g.erasesize, g.blocks):
        raise NandlabError(f"the image is of {image.geometry}, which is not {chip.name}'s geometry")
    pages = sum(bool(state & PAGE_HAS_DATA) for b in image.blocks for state in b.states)
    own = sum(_count_header_pages(b, image.geometry) for b in image.blocks)
    return ImageSize(pages, own, (pages - own) * g.writesize)


def count_content_blocks(image: ChipImage) -> int:
    """Blocks that hold data; with UBI, those of its volumes but its own."""
    return sum(_holds_content(block, image.geometry) for block in image.blocks)


def _holds_content(block: ChipBlock, geometry: ChipGeometry) -> bool:
    if not any(state & PAGE_HAS_DATA for state in block.states):
        return False
    if not _page_begins_with(block, geometry, 0, EC_MAGIC):
        return True
    (offset,) = VID_OFFSET.unpack_from(block.cells, VID_OFFSET_AT)
    page, within = divmod(offset, geometry.writesize)
    at = page * (geometry.writesize + geometry.oobsize) + within
    if not block.cells.startswith(VID_MAGIC, at):
        return False
    (volume,) = VID_OFFSET.unpack_from(block.cells, at + VOLUME_AT)
    return bool(volume != TABLE_VOLUME)


def _count_header_pages(block: ChipBlock, geometry: ChipGeometry) -> int:
    """Pages of a block that hold UBI's headers."""
    if not _page_begins_with(block, geometry, 0, EC_MAGIC):
        return 0
    (offset,) = VID_OFFSET.unpack_from(block.cells, VID_OFFSET_AT)
    page, within = divmod(offset, geometry.writesize)
    apart = 0 < page < geometry.pages_per_block and within == 0
    return 1 + (apart and _page_begins_with(block, geometry, page, VID_MAGIC))


def _page_begins_with(block: ChipBlock, geometry: ChipGeometry, page: int, magic: bytes) -> bool:
    """Whether a page that holds data begins with these bytes."""
    at = page * (geometry.writesize + geometry.oobsize)
    held = page < len(block.states) and block.states[page] & PAGE_HAS_DATA
    return bool(held) and block.cells.startswith(magic, at)
