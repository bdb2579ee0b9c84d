# SPDX-License-Identifier: GPL-2.0-or-later
"""YAFFS2: a chunk is a page of the flash, read with its tags; where each is, is in memory.

Source: YAFFS2's core, yaffs_guts.c, yaffs_file_rd() and yaffs_grab_chunk_cache(), and nandlab's
port of it (mtdif.c, tags2.c). A chunk is read whole, straight to its reader. It goes through the
core's cache of ten chunks, unless that is off, where tags are in the pages (inband), or where a
page of the flash is larger than one of the file, so that a part of a chunk is asked for. A mount
begins with an empty cache, and a sync leaves nothing of what was written there.

One thing is left there: where a write begins past a file's end, the port first reads the chunk of
that end (yl_is_readable()), and if the gap is too long to be filled with zeroes, nothing is written
to it. Such a chunk is one that is not full, and not the file's last one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Self

from nandlab.flash.layouts.layout import Layout
from nandlab.flash.reading.reader import FilesystemReader
from nandlab.flash.reading.reads import PAGE_BYTES, FilePieces, MtdRead

CACHED_CHUNKS = 10
"""Chunks of the core's cache."""


class Yaffs2Reader(FilesystemReader):
    """Keeps chunks that were asked for in part."""

    layout_name = "yaffs2"
    header = 0

    def __init__(self, layout: Layout, options: Mapping[str, str], *, mounted: bool) -> None:
        super().__init__(layout, options, mounted=mounted)
        self.room = CACHED_CHUNKS if options.get("cache", "on") == "on" else 0
        self.inband = layout.chunk_bytes < layout.writesize
        self.cached: dict[tuple[int, int], None] = {}
        """File and chunk, the one that was used last at the end."""

    def page(self, file: FilePieces, page: int) -> Iterator[MtdRead]:
        """The chunks of a page; one that is not stored, or is past the end, is no read."""
        size, position, end = self.layout.chunk_bytes, page * PAGE_BYTES, (page + 1) * PAGE_BYTES
        places = {piece.offset // size: piece.at for piece in file.list_pieces(page)}
        while position < end:
            chunk, start = divmod(position, size)
            count = min(end - position, size - start)
            position += count
            if self._cached((file.owner, chunk), part=count < size or self.inband):
                continue
            if chunk in places:
                yield MtdRead(places[chunk], self.layout.writesize, spare=not self.inband)

    def _cached(self, chunk: tuple[int, int], *, part: bool) -> bool:
        """Whether the core's cache has a chunk; if it is asked for in part, it will."""
        is_cached = chunk in self.cached
        if is_cached:
            del self.cached[chunk]
        if is_cached or (part and self.room):
            if len(self.cached) == self.room:
                del self.cached[next(iter(self.cached))]
            self.cached[chunk] = None
        return is_cached

    def sure(self, file: FilePieces, page: int) -> bool:
        """Not where the cache may still have the chunk of an end that a write went past."""
        if self.mounted:
            return True
        ends = (piece.offset + piece.bytes for piece in file.list_pieces(page))
        return all(end % self.layout.chunk_bytes == 0 or end >= file.size for end in ends)

    def open(self, owner: int, folder: int | None = None) -> list[MtdRead]:
        """None: after a scan, or from a checkpoint, all but a few names are in memory."""
        return []

    def nodes(self, owner: int, asked: Sequence[MtdRead]) -> int:
        return 0

    def opened(self, asked: Sequence[MtdRead]) -> int | None:
        return None

    def copy(self) -> Self:
        other = super().copy()
        other.cached = dict(self.cached)
        return other


READER = Yaffs2Reader
