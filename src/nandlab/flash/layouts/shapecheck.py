# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether JFFS2 nodes of a dump that cannot be read can be read with other pages than were told.

A wrong ``--page`` or ``--oob`` puts spare areas into data or cuts data out. A node that crosses
such a place has a wrong checksum. It has the right one where the pages are the chip's own: no
damage does that but by one chance in 2^32.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from mmap import mmap
from pathlib import Path

from nandlab.base.errors import UsageError
from nandlab.base.gate import map_chip_file
from nandlab.flash.layouts import jffs2nodes
from nandlab.flash.layouts.dump import USUAL_OOB
from nandlab.flash.layouts.shape import Shape

PAGES = (512, 1024, 2048, 4096, 8192, 16384)
TRIED_MAX = 100
"""Nodes that are tried: enough, for most that cross a page have the fault."""


def refuse_wrong_shape(
    path: Path, shape: Shape, dropped: Sequence[jffs2nodes.DroppedNode], order: str
) -> None:
    """UsageError if a node that was dropped is sound with other pages."""
    nodes = [d for d in dropped if d.kind == "inode" and d.plain]
    with map_chip_file(path) as cells:
        for node in islice(nodes, TRIED_MAX):
            offset = _find_file_offset(node.at, shape)
            for other_shape in _list_other_shapes(shape):
                if _is_node_sound(cells, offset, other_shape, order):
                    raise UsageError(
                        f"{path}: nodes that cannot be read with {_format_shape(shape)} can be "
                        f"with "
                        f"{_format_shape(other_shape)}: give the chip's own geometry"
                    )


def _format_shape(shape: Shape) -> str:
    return f"--page {shape.page} --oob {shape.oob}"


def _find_file_offset(offset: int, shape: Shape) -> int:
    """Where a byte of data is in the file."""
    page, column = divmod(offset, shape.page)
    return page * (shape.page + shape.oob) + column


def _list_other_shapes(shape: Shape) -> Iterator[Shape]:
    for page in PAGES:
        for oob in (0, *USUAL_OOB):
            other = Shape(page, shape.erase_block, oob)
            if oob <= page // 2 and other != shape and (oob or shape.oob):
                yield other


def _is_node_sound(cells: mmap, offset: int, shape: Shape, order: str) -> bool:
    """Whether the data of the node at a byte of the file have their checksum."""
    form = jffs2nodes.select_struct_byte_order(jffs2nodes.INODE_NODE, order)
    head = _read_data(cells, offset, form.size, shape)
    if len(head) < form.size or jffs2nodes.MAGIC_MARKS.get(head[:2]) != order:
        return False
    node = form.unpack(head)
    stored = _read_data(cells, offset, form.size + node[14], shape)[form.size :]
    return (
        bool(stored)
        and len(stored) == node[14]
        and bool(jffs2nodes.compute_jffs2_crc(stored) == node[19])
    )


def _read_data(cells: mmap, offset: int, count: int, shape: Shape) -> bytes:
    """Data bytes from a byte of the file on; spare areas are left out."""
    if count > shape.erase_block:
        return b""
    stride, data = shape.page + shape.oob, bytearray()
    while len(data) < count and offset < len(cells):
        column = offset % stride
        if column < shape.page:
            data += cells[offset : offset + min(count - len(data), shape.page - column)]
        offset += stride - column
    return bytes(data)
