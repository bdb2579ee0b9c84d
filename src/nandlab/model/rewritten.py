# SPDX-License-Identifier: GPL-2.0-or-later
"""A file as it would lie on flash if it were written anew, in order and at once.

Each page of the file becomes a node, one after the other, compressed as well as its pieces are now.
JFFS2 splits a node that an erase block's end cuts, unless too little room is left for one
(``jffs2_write_inode_range()``, ``JFFS2_MIN_DATA_LEN``); UBIFS goes to the next block. Chunks of
YAFFS2 are pages of the flash, wherever they lie, so nothing changes there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator
from dataclasses import replace
from typing import NamedTuple

from nandlab.model.every import reader_of
from nandlab.model.reads import PAGE, Pieces
from nandlab.model.unpack import Tokens
from nandlab.onflash.layout import HOLE, Layout, Piece

PER_NODE = ("node", "pull", "lens", "coded", "used", "entry", "subtable", "fast")
"""Tokens of which a node has as many, whatever its length."""


class _Page(NamedTuple):
    """What is to be written of a page of the file."""

    offset: int
    bytes: int
    stored: int
    packing: str


class Anew(Pieces):
    """A file's content as it would lie on flash."""

    def __init__(self, layout: Layout, owner: int, old: Pieces) -> None:
        super().__init__(layout, owner)
        self.old = old

    def tokens(self, piece: Piece) -> Tokens | None:
        """As many, for its bytes, as the pieces of its page have now."""
        found: Tokens = Counter()
        for count, of in _seen(self.old, piece.offset // PAGE):
            counted = self.old.tokens(of) if of.packing == piece.packing else None
            for token, n in (counted or {}).items():
                share = count / piece.bytes if token in PER_NODE else count / of.plain
                found[token] += n * share  # type: ignore[assignment]
        return found or None


def pieces(of: Layout, owner: int, leave_out: Container[int] = ()) -> Pieces:
    """The file alone, from the first byte of the partition on; pages are left out that hold
    nothing, or are named."""
    old = Pieces(of, owner)
    reader = reader_of(of.filesystem)
    if not reader.align:
        return old
    nodes = list(_nodes(of, _pages(old, leave_out), owner))
    begins = [node.at - reader.header for node in reversed(nodes)]
    alone = replace(of, pieces=nodes, nodes={owner: begins}, dead={})
    return Anew(reader.completed(alone), owner, old)


def _seen(of: Pieces, page: int) -> list[tuple[int, Piece]]:
    """The pieces of a page that hold data, and the bytes of it that each has."""
    begin, end = page * PAGE, (page + 1) * PAGE
    held = (p for p in of.of(page) if p.packing != HOLE)
    return [(min(p.offset + p.bytes, end) - max(p.offset, begin), p) for p in held]


def _pages(of: Pieces, leave_out: Container[int]) -> Iterator[_Page]:
    for page in of.listed:
        seen = _seen(of, page)
        if not seen or page in leave_out:
            continue
        plain = sum(count for count, _ in seen)
        stored = sum(count * p.stored / p.plain for count, p in seen)
        yield _Page(page * PAGE, plain, round(stored), seen[0][1].packing)


def _nodes(of: Layout, pages: Iterator[_Page], owner: int) -> Iterator[Piece]:
    reader = reader_of(of.filesystem)
    header, align = reader.header, reader.align
    at = 0
    for page in pages:
        offset, plain, stored = page.offset, page.bytes, page.stored
        while plain:
            room = of.erasesize - at % of.erasesize - header
            if room < min(stored, reader.least_data):
                at += room + header
                continue
            part = min(stored, room)
            share = plain if part == stored else max(1, plain * part // stored)
            node = at + header
            yield Piece(owner, offset, share, node, part, 0, page.packing, share)
            offset, plain, stored = offset + share, plain - share, stored - part
            at = node + -(-part // align) * align
