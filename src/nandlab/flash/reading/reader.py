# SPDX-License-Identifier: GPL-2.0-or-later
"""How a file system reads: the form that all have, and the memory that is theirs between reads."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, Self

from nandlab.flash.layouts.layout import Layout
from nandlab.flash.reading.packers import PackedData
from nandlab.flash.reading.reads import PAGE_BYTES, FilePieces, MtdRead


class FilesystemReader(ABC):
    """A file system of one layout, with what it keeps in memory; nothing at first."""

    layout_name: ClassVar[str]
    """Of the layout that it reads: its decoder's name."""
    header: ClassVar[int]
    """Bytes on flash before the data of a fragment."""
    align: ClassVar[int] = 0
    """Bytes that nodes are aligned to; 0: data are in no nodes, and lie as well wherever they are
    written."""
    least_data: ClassVar[int] = PAGE_BYTES
    """Bytes of data below which a node is not cut short to fill an erase block."""

    entry: ClassVar[int] = 0
    """Bytes of a node in the summary that ends its block."""
    packers: ClassVar[frozenset[str]] = frozenset()
    """The compressors by which data are packed as the kernel does it."""

    def __init__(self, layout: Layout, options: Mapping[str, str], *, mounted: bool) -> None:
        """options: of the file system, as the catalog names them; those left out are default.
        mounted: whether it was mounted after its files were written."""
        self.layout, self.mounted = layout, mounted

    @abstractmethod
    def page(self, file: FilePieces, page: int) -> Iterator[MtdRead]:
        """The reads of MTD that a page of a file takes, in order."""

    @abstractmethod
    def open(self, owner: int, folder: int | None = None) -> list[MtdRead]:
        """Those of the first look-up of a file, in that folder if it has names in several.

        None are foretold of one that takes none.
        """

    def open_otherwise(self, owner: int) -> list[list[MtdRead]]:
        """Other orders of a first look-up's reads, where the layout does not tell which it takes:
        those at whose begin or end another page may be in the NAND core's buffer."""
        return []

    @abstractmethod
    def nodes(self, owner: int, asked: Sequence[MtdRead]) -> int:
        """Nodes of a file that its first look-up, which asks for this, reads."""

    @abstractmethod
    def opened(self, asked: Sequence[MtdRead]) -> int | None:
        """The regular file whose first look-up asked for this; None: it was none."""

    @classmethod
    def begin(cls, layout: Layout) -> int:
        """The first byte of an erase block at which a node may lie."""
        return 0

    @classmethod
    def compute_node_room(cls, layout: Layout, at: int, summed: int) -> int:
        """Bytes of data that a node has room for in its block; summed: those of the block's summary
        that tell of nodes before it."""
        return layout.erasesize - at % layout.erasesize - cls.header

    @classmethod
    def packed(cls, layout: Layout, data: bytes, room: int) -> PackedData | None:
        """What is made of the content of a page, or of the rest of it; None: it is no node in this
        block."""
        raise NotImplementedError

    @classmethod
    def completed(cls, layout: Layout) -> Layout:
        """The layout of a file that is written anew, with what is written beside its nodes."""
        return layout

    def note_read(self, read: MtdRead) -> None:  # noqa: B027 - most keep nothing
        """Notes a read that was none of the above: it may leave something in memory."""

    def drop(self) -> None:  # noqa: B027 - nor have anything to forget
        """Forgets what the kernel takes back when caches are dropped."""

    def begun(self, asked: Iterable[MtdRead]) -> None:  # noqa: B027 - so nothing was there before
        """UsageError if all reads of a trace, in order, tell that something was in memory before
        it, of which the layout does not tell what."""

    def sure(self, file: FilePieces, page: int) -> bool:
        """Whether a read of a page takes what is foretold: nothing that the layout does not tell
        may have it in memory."""
        return True

    def copy(self) -> Self:
        """Another one with the same in memory."""
        return copy.copy(self)
