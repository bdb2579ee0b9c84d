# SPDX-License-Identifier: GPL-2.0-or-later
"""A file as it would lie on flash if it were written anew, in order and at once.

Each page of the file becomes a node, one after the other, compressed as well as its pieces are now.
JFFS2 splits a node that an erase block's end cuts, unless too little room is left for one
(``jffs2_write_inode_range()``, ``JFFS2_MIN_DATA_LEN``); UBIFS goes to the next block. Chunks of
YAFFS2 are pages of the flash, wherever they lie, so nothing changes there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import NamedTuple

from nandlab.model import reads
from nandlab.model.reads import PAGE, Pieces
from nandlab.onflash.layout import HOLE, Layout, Piece

ALIGN = {"jffs2": 4, "ubifs": 8}
"""Bytes that nodes are aligned to, of the file systems that have nodes."""
LEAST_DATA = {"jffs2": 128, "ubifs": reads.PAGE}
"""Bytes of data below which a node is not cut short to fill an erase block."""


class _Page(NamedTuple):
    """What is to be written of a page of the file."""

    offset: int
    bytes: int
    stored: int
    packing: str


def layout(of: Layout, owner: int, leave_out: Collection[int] = ()) -> Layout:
    """The layout with this file alone, from the first byte of the partition on; pages are left out
    that hold nothing, or are named."""
    if of.filesystem not in ALIGN:
        return of
    header = reads.HEADER[of.filesystem]
    nodes = list(_nodes(of, _pages(of, owner, leave_out), owner))
    begins = [node.at - header for node in reversed(nodes)]
    return replace(of, pieces=nodes, nodes={owner: begins}, dead={})


def _pages(of: Layout, owner: int, leave_out: Collection[int]) -> Iterator[_Page]:
    pieces = Pieces(of, owner)
    for page in range(pieces.pages):
        held = [p for p in pieces.of(page) if p.packing != HOLE]
        if not held or page in leave_out:
            continue
        begin, end = page * PAGE, (page + 1) * PAGE
        seen = [(min(p.offset + p.bytes, end) - max(p.offset, begin), p) for p in held]
        plain = sum(count for count, _ in seen)
        stored = sum(count * p.stored / p.plain for count, p in seen)
        yield _Page(begin, plain, round(stored), held[0].packing)


def _nodes(of: Layout, pages: Iterator[_Page], owner: int) -> Iterator[Piece]:
    header, align = reads.HEADER[of.filesystem], ALIGN[of.filesystem]
    at = 0
    for page in pages:
        offset, plain, stored = page.offset, page.bytes, page.stored
        while plain:
            room = of.erasesize - at % of.erasesize - header
            if room < min(stored, LEAST_DATA[of.filesystem]):
                at += room + header
                continue
            part = min(stored, room)
            share = plain if part == stored else max(1, plain * part // stored)
            node = at + header
            yield Piece(owner, offset, share, node, part, 0, page.packing, share)
            offset, plain, stored = offset + share, plain - share, stored - part
            at = node + -(-part // align) * align
