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
from nandlab.chip.file import HAS_DATA
from nandlab.chip.image import Block, ChipImage, Geometry

EC_MAGIC, VID_MAGIC = b"UBI#", b"UBI!"
VID_OFFSET = struct.Struct(">I")
VID_OFFSET_AT = 16
"""Where the first header tells the other's offset in the block (drivers/mtd/ubi/ubi-media.h)."""


@dataclass(frozen=True)
class Account:
    """How much of a chip an image takes."""

    pages: int
    """Pages that hold data, UBI's headers among them."""
    own_header_pages: int
    """Pages that hold UBI's headers and nothing else; 0 where there is no UBI."""
    bytes: int
    """Bytes of the pages without UBI's headers, spare areas not counted."""


def account(image: ChipImage, chip: ChipModel) -> Account:
    """What an image takes of a chip; NandlabError if the image is of a chip of another geometry."""
    g = chip.geometry
    if image.geometry != Geometry(g.writesize, g.oobsize, g.erasesize, g.blocks):
        raise NandlabError(f"the image is of {image.geometry}, which is not {chip.name}'s geometry")
    pages = sum(bool(state & HAS_DATA) for b in image.blocks for state in b.states)
    own = sum(_header_pages(b, image.geometry) for b in image.blocks)
    return Account(pages, own, (pages - own) * g.writesize)


def _header_pages(block: Block, geometry: Geometry) -> int:
    """Pages of a block that hold UBI's headers."""
    if not _begins(block, geometry, 0, EC_MAGIC):
        return 0
    (offset,) = VID_OFFSET.unpack_from(block.cells, VID_OFFSET_AT)
    page, within = divmod(offset, geometry.writesize)
    apart = 0 < page < geometry.pages_per_block and within == 0
    return 1 + (apart and _begins(block, geometry, page, VID_MAGIC))


def _begins(block: Block, geometry: Geometry, page: int, magic: bytes) -> bool:
    """Whether a page that holds data begins with these bytes."""
    at = page * (geometry.writesize + geometry.oobsize)
    held = page < len(block.states) and block.states[page] & HAS_DATA
    return bool(held) and block.cells.startswith(magic, at)
