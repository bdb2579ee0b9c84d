# SPDX-License-Identifier: GPL-2.0-or-later
"""YAFFS2 as tools make images of it: tags from byte 0 of the spare area, the last block not full.

Sources: utils/mkyaffs2image.c of the YAFFS2 tree, which writes tags without a chip's layout of the
spare area; yaffs_packedtags2.h (tags), yaffs_guts.h (the header of an object).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np

from nandlab.onflash.shape import Shape

HEADER = struct.Struct("<II2s")
"""Of an object's header: its type, its parent's number, and two bytes that nobody uses."""
TYPES = range(1, 6)
LOWEST, HIGHEST = 0x1000, 0xEFFFFF00
EXTRA, OBJECT_MAX, CHUNK_MAX = 0xF0000000, 0x3FFFF, 0xFFFFF
MARK_BYTES = 2
"""Of a spare area, before the tags as the core on a chip has them: the mark of a bad block."""
TAGS_BYTES = 16
"""Bytes of tags without their code."""
PAGES_MAX = 4096
"""How many pages are looked at."""


def begins_with_object(cells: bytes) -> bool:
    """Whether a file begins with the header of an object, as an image by a tool does."""
    if len(cells) < HEADER.size:
        return False
    kind, parent, unused = HEADER.unpack_from(cells)
    return kind in TYPES and 0 < parent <= OBJECT_MAX and unused == b"\xff\xff"


def has_tags_at(cells: bytes, shape: Shape, at: int) -> bool:
    """Whether all written pages of a dump's begin have tags at this byte of the spare area."""
    tags = list(_read_tags(cells, shape, at))
    return bool(tags) and all(
        LOWEST <= sequence <= HIGHEST
        and 0 < number & ~EXTRA <= OBJECT_MAX
        and chunk & ~EXTRA <= CHUNK_MAX
        for sequence, number, chunk in tags
    )


def _read_tags(cells: bytes, shape: Shape, at: int) -> Iterator[tuple[int, int, int]]:
    """Sequence number, object and chunk of each written page."""
    stride = shape.page + shape.oob
    for page in range(min(PAGES_MAX, len(cells) // stride)):
        whole = cells[page * stride : (page + 1) * stride]
        if whole.count(0xFF) != len(whole):
            yield struct.unpack_from("<III", whole, shape.page + at)


def move_tags_behind_mark(block: bytes, shape: Shape) -> bytes:
    """A block whose tags begin at byte 0 of each spare area, with them where a chip has them."""
    pages = np.frombuffer(block, dtype=np.uint8).reshape(-1, shape.page + shape.oob).copy()
    spare = pages[:, shape.page :]
    spare[:, MARK_BYTES:] = spare[:, :-MARK_BYTES].copy()
    spare[:, :MARK_BYTES] = 0xFF
    return pages.tobytes()
