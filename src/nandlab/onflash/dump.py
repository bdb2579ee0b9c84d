# SPDX-License-Identifier: GPL-2.0-or-later
"""A dump of a chip that nanddump made, with or without spare areas; its geometry is told.

The file does not say of which chip it is. So what can be told of it is checked before a decoder
reads it: whole erase blocks, marks of bad blocks, and that something is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from mmap import mmap
from pathlib import Path
from typing import NamedTuple

from nandlab.base.errors import UsageError
from nandlab.base.gate import mapped, open_regular
from nandlab.chip.image import FACTORY_BAD, Block, ChipImage, Geometry
from nandlab.chip.sidecar import BLOCKS_MAX

HOW = "dump it with nanddump --bb=dumpbad --oob"
PAGE_MIN, PAGE_MAX = 256, 32768
SMALL_PAGE = 512
USUAL_OOB = (16, 64, 128, 224, 256, 512)
"""Bytes of spare areas that pages have: what a file may have been dumped with."""
FOREIGN = {
    "squashfs": ((0, b"hsqs"),),
    "ext4, or ext2 or ext3": ((1080, b"\x53\xef"), (1048 + 1, bytes(3))),
    "FAT": ((510, b"\x55\xaa"), (54, b"FAT1")),
    "FAT32": ((510, b"\x55\xaa"), (82, b"FAT32")),
    "EROFS": ((1024, b"\xe2\xe1\xf5\xe0"),),
    "Cramfs": ((0, b"\x45\x3d\xcd\x28"),),
}
"""File systems of block devices -> which bytes they begin with, and where."""
BAD_SHARE_MAX = 8
"""A chip with more than one bad block in so many is none: parts guarantee one in fifty or so."""
BAD_FEW = 2


class Shape(NamedTuple):
    """The chip's geometry, as its user tells it; in bytes."""

    page: int
    erase_block: int
    oob: int = 0
    """0: the dump has no spare areas."""

    @property
    def block_bytes(self) -> int:
        """Bytes of the file for an erase block."""
        return self.erase_block // self.page * (self.page + self.oob)

    def __str__(self) -> str:
        spare = f" + {self.oob}" if self.oob else ""
        return f"pages of {self.page}{spare} bytes in blocks of {self.erase_block}"


def checked(shape: Shape) -> Shape:
    """The shape itself; UsageError if no chip has it."""
    page, erase_block, oob = shape
    if page & (page - 1) or not PAGE_MIN <= page <= PAGE_MAX:
        raise UsageError(f"--page {page}: give a power of two from {PAGE_MIN} to {PAGE_MAX}")
    if erase_block % page or erase_block < 2 * page:
        raise UsageError(f"--erase-block {erase_block}: give a multiple of --page {page}")
    if not 0 <= oob <= page // 2:
        raise UsageError(f"--oob {oob}: give the spare area's bytes, or 0 for a dump without")
    return shape


def read(path: Path, shape: Shape) -> ChipImage:
    """The chip in a dump; UsageError says what cannot be right with the file or the shape.

    A block whose mark of a bad block is set is bad. A block that nanddump padded is erased.
    """
    with mapped(path) as cells:
        size = len(cells)
        _whole(path, size, shape)
        blocks = size // shape.block_bytes
        found = list(_written(path, cells, blocks, shape))
    _some_written(path, found, blocks, shape)
    geometry = Geometry(shape.page, shape.oob, shape.erase_block, blocks)
    return ChipImage(geometry, 0, 0, 0, found)


def refuse_foreign(path: Path) -> None:
    """UsageError if a file begins as a file system of block devices does."""
    with open_regular(path) as file:
        begin = file.read(2048)
    for name, marks in FOREIGN.items():
        if all(begin[at:].startswith(mark) for at, mark in marks):
            raise UsageError(
                f"{path}: begins as {name} does, a file system of block devices: none of raw NAND"
            )


def _whole(path: Path, size: int, shape: Shape) -> None:
    if size % shape.block_bytes == 0:
        if size // shape.block_bytes > BLOCKS_MAX:
            raise UsageError(f"{path}: more blocks than a chip has with {shape}: give the chip's")
        return
    fits = [o for o in (0, *USUAL_OOB) if o != shape.oob and o <= shape.page // 2]
    fits = [o for o in fits if size % shape._replace(oob=o).block_bytes == 0]
    hint = f"; --oob {fits[0]} would fit" if fits else ""
    raise UsageError(
        f"{path}: {size} bytes are no whole number of {shape}: truncated, or of another "
        f"geometry{hint}"
    )


def _written(path: Path, cells: mmap, blocks: int, shape: Shape) -> Iterator[Block]:
    """The blocks of the dump that are not as new; UsageError if too many are zeros throughout."""
    zeros, may_be = bytes(shape.block_bytes), _bad_max(blocks)
    for index in range(blocks):
        own = cells[index * shape.block_bytes : (index + 1) * shape.block_bytes]
        if own.count(0xFF) == len(own):
            continue
        if own == zeros:
            own, may_be = zeros, may_be - 1
        if may_be < 0:
            raise UsageError(
                f"{path}: more than {_bad_max(blocks)} of {blocks} blocks are zeros throughout, "
                "which no chip has: the file has holes, or is no dump"
            )
        flags = FACTORY_BAD if shape.oob and _marked(own, shape) else 0
        yield Block(index, 0, 0, flags, [], [], own)


def _bad_max(blocks: int) -> int:
    """The most blocks that may be bad in so many."""
    return max(BAD_FEW, blocks // BAD_SHARE_MAX)


def _marked(own: bytes, shape: Shape) -> bool:
    """Whether the first or second page has the mark of a bad block."""
    mark = 5 if shape.page == SMALL_PAGE else 0
    stride = shape.page + shape.oob
    return any(own[page * stride + shape.page + mark] != 0xFF for page in (0, 1))


def _some_written(path: Path, found: list[Block], blocks: int, shape: Shape) -> None:
    bad = sum(bool(b.flags) for b in found)
    if bad > _bad_max(blocks):
        raise UsageError(
            f"{path}: {bad} of {blocks} blocks would be marked bad, which no chip has: --page "
            f"{shape.page} or --oob {shape.oob} is not the chip's, or the dump has no spare areas"
        )
    if len(found) == bad:
        raise UsageError(f"{path}: every block is erased or bad: nothing is there to be read")
