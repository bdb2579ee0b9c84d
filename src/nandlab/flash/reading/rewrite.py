# SPDX-License-Identifier: GPL-2.0-or-later
"""A file as it would lie on flash if it were written anew, in order and at once.

Each page of the file becomes a node, one after the other. Its content is put together from its
pieces, and packed as the kernel would (``packers``). JFFS2 splits a node that an erase block's end
cuts, unless too little room is left for one (``jffs2_write_inode_range()``); UBIFS goes to the next
block. Chunks of YAFFS2 are pages of the flash, wherever they lie, so nothing changes there. Holes
of whole pages stay holes.

Where the content is not known, for a compressor is not, or no bytes are there but what a text told
of them, a page is taken to be packed as well as its pieces are now.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator
from dataclasses import replace
from typing import NamedTuple

from nandlab.flash.layouts import unpacking
from nandlab.flash.layouts.layout import HOLE, FilePiece, Layout
from nandlab.flash.layouts.unpacking import UnpackError
from nandlab.flash.reading import tokencount
from nandlab.flash.reading.kernelstate import find_filesystem_reader
from nandlab.flash.reading.reads import PAGE_BYTES, FilePieces
from nandlab.flash.reading.tokencount import TokenCounts

PER_NODE = ("node", "pull", "lens", "coded", "used", "entry", "subtable", "fast")
"""Tokens of which a node has as many, whatever its length."""


class _PagePart(NamedTuple):
    """What is to be written of a page of the file, or what is left of that."""

    offset: int
    plain: int
    data: bytes | None
    """The content; None: not known."""
    stored: int
    """Bytes that it is taken to be packed to, where it is not known."""
    packing: str


class _FileWriter:
    """A file as it is written anew."""

    def __init__(
        self, layout: Layout, owner: int, leave_out: Container[int] = (), *, exact: bool = True
    ) -> None:
        self.layout, self.old, self.leave_out = layout, FilePieces(layout, owner), leave_out
        self.reader = find_filesystem_reader(layout.filesystem)
        self.is_packing = exact and set(layout.packings) <= self.reader.packers
        """Whether pages are packed, and all compressors are known."""
        self.rooms: dict[int, int] = {}
        """First byte of a node's data -> bytes that it had room for, if they are fewer than are
        left of its page."""
        self.estimated = 0
        """Pages that are taken to be packed as well as their pieces are now."""

    def nodes(self, position: int | None = None, summed: int = 0) -> Iterator[FilePiece]:
        """The file's nodes in order.

        position: where the first begins; None: where a block does. summed: bytes that its block's
        summary has for nodes before it.
        """
        layout, reader = self.layout, self.reader
        position = reader.begin(layout) if position is None else position
        for page in self.old.listed:
            part = self._page(page)
            while part.plain:
                room = reader.compute_node_room(layout, position, summed)
                result = self._pack_part(part, room)
                if result is None:
                    position, summed = (
                        position
                        - position % layout.erasesize
                        + layout.erasesize
                        + reader.begin(layout),
                        0,
                    )
                    continue
                node, (plain, stored, packed) = position + reader.header, result
                if room < part.plain:
                    self.rooms[node] = room
                yield FilePiece(self.old.owner, part.offset, plain, node, stored, 0, packed, plain)
                part = _cut_part(part, plain, stored)
                position, summed = (
                    node + -(-stored // reader.align) * reader.align,
                    summed + reader.entry,
                )

    def _page(self, page: int) -> _PagePart:
        """All of a page; of one that is left out, nothing."""
        pieces = [] if page in self.leave_out else _list_data_pieces(self.old, page)
        begin = page * PAGE_BYTES
        count = min(PAGE_BYTES, self.old.size - begin) if pieces else 0
        if not pieces or not self.layout.packings:
            return _PagePart(begin, count, bytes(count), count, "")
        data = self.content(page)
        self.estimated += data is None and (len(pieces) > 1 or pieces[0][1].bytes < count)
        stored = sum(n * p.stored / p.plain for n, p in pieces)
        return _PagePart(begin, count, data, round(stored), pieces[0][1].packing)

    def _pack_part(self, part: _PagePart, room: int) -> tuple[int, int, str] | None:
        """Bytes of the part that a node has, its bytes and its compressor; None: none fits."""
        reader = self.reader
        if part.data is not None:
            made = reader.packed(self.layout, part.data, room)
            return made and (made.plain, len(made.data), made.packing)
        if room < min(part.stored, reader.least_data):
            return None
        if part.stored <= room:
            return part.plain, part.stored, part.packing
        return max(1, part.plain * room // part.stored), room, part.packing

    def content(self, page: int) -> bytes | None:
        """The bytes of a page, with zeroes in its holes; None: they are not known, or what the
        kernel would make of them is not."""
        if not self.is_packing or self.layout.read_data is None:
            return None
        begin = page * PAGE_BYTES
        length = min(PAGE_BYTES, self.old.size - begin)
        data = bytearray(length)
        for count, piece in _list_data_pieces(self.old, page):
            try:
                unpacked = unpacking.unpack_file_piece(piece, self.layout.read_data)
            except UnpackError:
                return None
            start = max(piece.offset, begin)
            data[start - begin : start - begin + count] = unpacked[start - piece.offset :][:count]
        return bytes(data[:length])

    def tokens(self, piece: FilePiece) -> TokenCounts | None:
        """Those of a node that is written; None: they are not known."""
        page, skip = divmod(piece.offset, PAGE_BYTES)
        data = self.content(page)
        if data is None:
            return None
        made = self.reader.packed(self.layout, data[skip:], self.rooms.get(piece.at, PAGE_BYTES))
        return made and tokencount.count_node_tokens(
            made.packing, made.data, made.plain, self.layout.unpack_room
        )


class RewrittenFile(FilePieces):
    """A file's content as it would lie on flash."""

    def __init__(self, layout: Layout, writing: _FileWriter) -> None:
        super().__init__(layout, writing.old.owner)
        self.writing = writing
        self.estimated = writing.estimated

    def tokens(self, piece: FilePiece) -> TokenCounts | None:
        """Those of what is packed; where that is not known, as many, for its bytes, as the pieces
        of its page have now."""
        if piece.packing not in tokencount.TOKEN_COUNTERS:
            return None
        return self.writing.tokens(piece) or self._estimated(piece)

    def _estimated(self, piece: FilePiece) -> TokenCounts | None:
        tokens: TokenCounts = Counter()
        old = self.writing.old
        for count, source in _list_data_pieces(old, piece.offset // PAGE_BYTES):
            counted = old.tokens(source) if source.packing == piece.packing else None
            for token, n in (counted or {}).items():
                share = count / piece.bytes if token in PER_NODE else count / source.plain
                tokens[token] += n * share  # type: ignore[assignment]
        return tokens or None


def lay_file_out_alone(
    layout: Layout, owner: int, leave_out: Container[int] = (), *, exact: bool = True
) -> FilePieces:
    """The file alone, from the first byte of the partition on; pages are left out that hold
    nothing, or are named. exact: whether pages are packed, which takes long; else they are taken to
    be packed as well as their pieces are now."""
    reader = find_filesystem_reader(layout.filesystem)
    if not reader.align:
        return FilePieces(layout, owner)
    writing = _FileWriter(layout, owner, leave_out, exact=exact)
    nodes = list(writing.nodes())
    begins = [node.at - reader.header for node in reversed(nodes)]
    alone = replace(layout, pieces=nodes, nodes={owner: begins}, dead={})
    return RewrittenFile(reader.completed(alone), writing)


def list_rewritten_nodes(layout: Layout, owner: int, at: int, summed: int) -> list[FilePiece]:
    """The file's nodes if the first of them is written there; summed: bytes that the summary of its
    block has for what was written to it before."""
    return list(_FileWriter(layout, owner).nodes(at, summed))


def _list_data_pieces(layout: FilePieces, page: int) -> list[tuple[int, FilePiece]]:
    """The pieces of a page that hold data, and the bytes of it that each has."""
    begin, end = page * PAGE_BYTES, (page + 1) * PAGE_BYTES
    held = (p for p in layout.list_pieces(page) if p.packing != HOLE)
    return [(min(p.offset + p.bytes, end) - max(p.offset, begin), p) for p in held]


def _cut_part(part: _PagePart, plain: int, stored: int) -> _PagePart:
    """What a node leaves."""
    data = None if part.data is None else part.data[plain:]
    left = part.plain - plain, data, part.stored - stored
    return _PagePart(part.offset + plain, *left, part.packing)
