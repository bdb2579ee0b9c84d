# SPDX-License-Identifier: GPL-2.0-or-later
"""A dump of a chip that nanddump made, with or without spare areas; its geometry is told.

The file does not say of which chip it is. So what can be told of it is checked before a decoder
reads it: whole erase blocks, marks of bad blocks, and that something is written.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from mmap import mmap
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nandlab.base.errors import UsageError
from nandlab.base.gate import find_unpacker, map_chip_file, open_regular_file
from nandlab.flash.chip.image import FACTORY_BAD, ChipBlock, ChipGeometry, ChipImage
from nandlab.flash.chip.sidecar import BLOCKS_MAX
from nandlab.flash.layouts import nftl, yaffs2, yaffs2image
from nandlab.flash.layouts.cells import Partition
from nandlab.flash.layouts.jffs2scan import END_MARK
from nandlab.flash.layouts.shape import Shape
from nandlab.flash.layouts.yaffs2image import TagLayout

DUMP_ADVICE = "dump it with nanddump --bb=dumpbad --oob"
PAGE_MIN, PAGE_MAX = 256, 32768
SMALL_PAGE = 512
USUAL_OOB = (16, 64, 128, 224, 256, 512)
"""Bytes of spare areas that pages have: what a file may have been dumped with."""
UBI_MARK, UBIFS_MARK = b"UBI#", b"\x31\x18\x10\x06"
UBI_COUNT_END = 16
"""Bytes of a block of UBI up to the end of its erase count."""
LOOKS_MAX = 4096
"""Blocks of a file that are looked at for their begin, evenly spread."""
JFFS2_MARKS = (b"\x85\x19", b"\x19\x85")
OTHER_MARKS = (UBI_MARK, *JFFS2_MARKS, nftl.MEDIA_MARK)
"""Of file systems whose pages have no tags of YAFFS2."""
SAMPLED_PAGES = 4096
"""Pages of a dump among which some are looked at for YAFFS2's tags."""
FOREIGN_MARKS = {
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


def require_possible_shape(shape: Shape) -> Shape:
    """The shape itself; UsageError if no chip has it."""
    page, erase_block, oob = shape
    if page & (page - 1) or not PAGE_MIN <= page <= PAGE_MAX:
        raise UsageError(f"--page {page}: give a power of two from {PAGE_MIN} to {PAGE_MAX}")
    if erase_block % page or erase_block < 2 * page:
        raise UsageError(f"--erase-block {erase_block}: give a multiple of --page {page}")
    if not 0 <= oob <= page // 2:
        raise UsageError(f"--oob {oob}: give the spare area's bytes, or 0 for a dump without")
    return shape


class Dump(NamedTuple):
    """A chip as a dump has it."""

    chip: ChipImage
    notes: tuple[str, ...]
    """What was taken otherwise than the file has it."""


def read_flash_dump(
    path: Path, shape: Shape, needed_blocks: int | None = None, first: int = 0
) -> Dump:
    """The chip in a dump; UsageError says what cannot be right with the file or the shape.

    A block whose mark of a bad block is set is bad. A block that nanddump padded is erased. An
    image by a tool is read as it will be on flash: erased past the file's end, YAFFS2's tags where
    the chip has them.

    wanted: the blocks that are needed; what follows them in the file may be anything. None: all.
    first: the block from which on YAFFS2's tags are looked for.
    """
    with map_chip_file(path) as cells:
        _refuse_other_spare_areas(path, len(cells), shape)
        blocks = _count_blocks(path, cells, shape, needed_blocks)
        layout = _find_tag_layout(cells, shape, first)
        ends_at = len(cells)
        written_blocks = list(_read_written_blocks(path, cells, blocks, shape, layout))
    _refuse_empty_dump(path, written_blocks, blocks, shape)
    geometry = ChipGeometry(shape.page, shape.oob, shape.erase_block, blocks)
    notes = []
    if blocks * shape.block_bytes > ends_at:
        notes.append(f"the file ends within block {blocks - 1}: its rest is taken as erased")
    elif blocks * shape.block_bytes < ends_at and needed_blocks is None:
        notes.append(
            f"{ends_at - blocks * shape.block_bytes} bytes after the last block are left out"
        )
    if layout is not None:
        notes.append(layout.describe())
    return Dump(ChipImage(geometry, 0, 0, 0, written_blocks), tuple(notes))


def is_as_ubinize_makes_it(partition: Partition) -> bool:
    """Whether every block has a header of UBI, with one erase count: no chip in use has that."""
    if partition.bad or any(partition.erased(block) for block in range(partition.blocks)):
        return False
    begins = {partition.begin(block, UBI_COUNT_END) for block in range(partition.blocks)}
    return len(begins) == 1 and begins.pop().startswith(UBI_MARK)


def _refuse_other_spare_areas(path: Path, size: int, shape: Shape) -> None:
    """UsageError if blocks begin as UBI's do with other spare areas, and not with these.

    With the wrong ones the file may still be a whole number of blocks. The file is read, not
    mapped: a mapping keeps whatever was looked at.
    """
    with open_regular_file(path) as file:

        def count_marks(oob: int) -> int:
            stride = shape._replace(oob=oob).block_bytes
            spread = stride * max(1, size // stride // LOOKS_MAX)
            begins = (os.pread(file.fileno(), len(UBI_MARK), at) for at in range(0, size, spread))
            return sum(begin == UBI_MARK for begin in begins)

        expected_marks = count_marks(shape.oob)
        for oob in (0, *USUAL_OOB):
            if oob <= shape.page // 2 and count_marks(oob) > max(2 * expected_marks, BAD_FEW):
                raise UsageError(
                    f"{path}: its blocks begin as UBI's do with --oob {oob}, and not with --oob "
                    f"{shape.oob}: give that"
                )


def refuse_block_filesystem_file(path: Path) -> None:
    """UsageError if a file begins as a file system of block devices does."""
    with open_regular_file(path) as file:
        begin = file.read(2048)
    for name, marks in FOREIGN_MARKS.items():
        if all(begin[at:].startswith(mark) for at, mark in marks):
            raise UsageError(
                f"{path}: begins as {name} does, a file system of block devices: none of raw NAND"
            )


def _count_blocks(path: Path, cells: mmap, shape: Shape, needed_blocks: int | None) -> int:
    """The blocks in a file; UsageError if it is no whole number of them, and why."""
    whole_blocks, rest_bytes = divmod(len(cells), shape.block_bytes)
    if whole_blocks > BLOCKS_MAX:
        raise UsageError(f"{path}: more blocks than a chip has with {shape}: give the chip's")
    if cells[:4] == UBIFS_MARK:
        raise UsageError(
            f"{path}: a UBIFS volume without UBI, as mkfs.ubifs makes it: no chip holds it so. "
            "Make a UBI image of it with ubinize, or flash it and dump the partition"
        )
    if needed_blocks is not None and needed_blocks <= whole_blocks:
        return needed_blocks
    if not rest_bytes:
        return whole_blocks
    if whole_blocks and cells[-rest_bytes:] == END_MARK:
        return whole_blocks
    fits = [o for o in (0, *USUAL_OOB) if o != shape.oob and o <= shape.page // 2]
    fits = [o for o in fits if len(cells) % shape._replace(oob=o).block_bytes == 0]
    begun = cells[whole_blocks * shape.block_bytes :][:16]
    if not shape.oob and not fits and begun[:2] in JFFS2_MARKS:
        return whole_blocks + 1
    if shape.oob and rest_bytes % (shape.page + shape.oob) == 0 and _begins_as_yaffs2(cells):
        return whole_blocks + 1
    known = cells[:4] == UBI_MARK or cells[:2] in JFFS2_MARKS or _begins_as_yaffs2(cells)
    if whole_blocks and known and not fits:
        mib = whole_blocks * shape.erase_block / (1 << 20)
        raise UsageError(
            f"{path}: {whole_blocks} whole blocks with {shape} are followed by {rest_bytes} "
            "bytes that are none, as in firmware files; or it is truncated, or of another "
            f"geometry. To read the blocks alone give --partition-mib {mib:g}"
        )
    if cure := find_unpacker(cells[:16]):
        raise UsageError(f"{path}: it is packed, and no whole number of {shape}: try {cure} first")
    hint = f"; --oob {fits[0]} would fit" if fits else ""
    raise UsageError(
        f"{path}: {len(cells)} bytes are no whole number of {shape}: truncated, or of another "
        f"geometry{hint}"
    )


def _begins_as_yaffs2(cells: mmap) -> bool:
    return yaffs2image.begins_with_object(cells[:16])


def _find_tag_layout(cells: mmap, shape: Shape, first: int) -> TagLayout | None:
    """Where YAFFS2's tags are; None: where a chip of the kernel's default layout has them."""
    if shape.oob < yaffs2.TAGS_BYTES or shape.page <= SMALL_PAGE:
        return None
    stride, begin = shape.page + shape.oob, first * shape.block_bytes
    pages = np.frombuffer(cells[begin : begin + SAMPLED_PAGES * stride], dtype=np.uint8)
    pages = pages[: len(pages) // stride * stride].reshape(-1, stride)
    written = pages[(pages != 0xFF).any(axis=1)]
    if not len(written) or written[0, :4].tobytes().startswith(OTHER_MARKS):
        return None
    layout = yaffs2image.find_tag_layout(written, shape)
    return None if layout is None or not layout.describe() else layout


def _read_written_blocks(
    path: Path, cells: mmap, blocks: int, shape: Shape, layout: TagLayout | None
) -> Iterator[ChipBlock]:
    """The blocks of the dump that are not as new; UsageError if too many are zeros throughout."""
    zeros, may_be = bytes(shape.block_bytes), _count_bad_max(blocks)
    for index in range(blocks):
        block_cells = cells[index * shape.block_bytes : (index + 1) * shape.block_bytes]
        block_cells = block_cells.ljust(shape.block_bytes, b"\xff")
        if block_cells.count(0xFF) == len(block_cells):
            continue
        if block_cells == zeros:
            block_cells, may_be = zeros, may_be - 1
        if may_be < 0:
            raise UsageError(
                f"{path}: more than {_count_bad_max(blocks)} of {blocks} blocks are zeros "
                f"throughout, "
                "which no chip has: the file has holes, or is no dump"
            )
        if layout is not None:
            block_cells = yaffs2image.normalise_tags(block_cells, shape, layout)
        flags = FACTORY_BAD if shape.oob and _has_bad_mark(block_cells, shape) else 0
        yield ChipBlock(index, 0, 0, flags, [], [], block_cells)


def _count_bad_max(blocks: int) -> int:
    """The most blocks that may be bad in so many."""
    return max(BAD_FEW, blocks // BAD_SHARE_MAX)


def _has_bad_mark(own: bytes, shape: Shape) -> bool:
    """Whether the first or second page has the mark of a bad block."""
    mark = 5 if shape.page == SMALL_PAGE else 0
    stride = shape.page + shape.oob
    return any(own[page * stride + shape.page + mark] != 0xFF for page in (0, 1))


def _refuse_empty_dump(
    path: Path, written_blocks: list[ChipBlock], blocks: int, shape: Shape
) -> None:
    bad = [b for b in written_blocks if b.flags]
    too_many = len(bad) > _count_bad_max(blocks) or len(bad) == len(written_blocks)
    if too_many and any(yaffs2image.begins_with_object(b.cells) for b in bad):
        raise UsageError(
            f"{path}: its blocks begin as YAFFS2's do, and no place of its tags in the spare areas "
            f"fits: --page {shape.page} or --oob {shape.oob} is not the chip's, or its driver lays "
            "them out otherwise"
        )
    if len(bad) > _count_bad_max(blocks):
        raise UsageError(
            f"{path}: {len(bad)} of {blocks} blocks would be marked bad, which no chip has: --page "
            f"{shape.page} or --oob {shape.oob} is not the chip's, or the dump has no spare areas"
        )
    if (
        written_blocks
        and len(written_blocks) == len(bad)
        and any(b.cells.strip(b"\0") for b in bad)
    ):
        raise UsageError(
            f"{path}: all blocks with data are marked bad in their spare areas: --oob {shape.oob} "
            "is not the chip's, or its spare areas have another layout"
        )
    if len(written_blocks) == len(bad):
        raise UsageError(f"{path}: every block is erased or bad: nothing is there to be read")
