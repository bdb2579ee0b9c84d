# SPDX-License-Identifier: GPL-2.0-or-later
"""All file systems whose reads are modelled, and what the kernel holds between their reads."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from nandlab.base.errors import UsageError
from nandlab.catalog.files import load
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.model.jffs2 import Jffs2
from nandlab.model.reader import Reader
from nandlab.model.reads import Access, Call, FirstOpen, PageBuffer, Pieces, Read
from nandlab.model.ubifs import Ubifs
from nandlab.model.yaffs2 import Yaffs2
from nandlab.onflash.layout import Layout

READERS: MappingProxyType[str, type[Reader]] = MappingProxyType(
    {"jffs2": Jffs2, "ubifs": Ubifs, "yaffs2": Yaffs2}
)
NO_OPTIONS: Mapping[str, str] = MappingProxyType({})


def reader_of(filesystem: str, where: object = None) -> type[Reader]:
    """How a file system reads; UsageError if that is not known. where: what the message names."""
    if filesystem not in READERS:
        named = f"{where}: {filesystem}" if where else filesystem
        why = load("filesystems", filesystem, FilesystemModel).unmodelled_reads
        raise UsageError(f"{named}: how it reads is not modelled: {why}")
    return READERS[filesystem]


def _flash(reads: Iterable[Read], buffer: PageBuffer) -> list[int]:
    """The pages that the chip reads, sorted."""
    every = (access for read in reads for access in buffer.read(read))
    return sorted(access.page for access in every if not access.hit)


class State:
    """What the kernel holds between reads: the NAND core's page, and what the file system keeps."""

    def __init__(
        self, layout: Layout, options: Mapping[str, str] = NO_OPTIONS, *, mounted: bool = False
    ) -> None:
        """options: of the file system, as the catalog names them; those left out are default.
        mounted: whether it was mounted after its files were written."""
        self.buffer = PageBuffer(layout.writesize)
        self.reader = reader_of(layout.filesystem)(layout, options, mounted=mounted)

    def read(self, file: Pieces, page: int) -> Call:
        """Reads a page of a file."""
        asked = list(self.reader.page(file, page))
        return Call(*self._asked(asked), file, page, file.of(page))

    def first_open(self, owner: int, folder: int | None = None) -> FirstOpen:
        """Looks up a file that is not in memory, in that folder if it has names in several."""
        asked = self.reader.open(owner, folder)
        before = copy.copy(self.buffer)
        opened = FirstOpen(*self._asked(asked), self.reader.nodes(owner, asked))
        others = self.reader.open_otherwise(owner)
        if not others:
            return opened
        reads = [_flash(order, copy.copy(before)) for order in others]
        same = all(pages == sorted(opened.flash) for pages in reads)
        return replace(opened, ordered=False, counted=same)

    def _asked(self, reads: Sequence[Read]) -> tuple[list[Access], list[int] | None]:
        """The flash pages of reads, and the branches of those of the index."""
        accesses = [access for read in reads for access in self.buffer.read(read)]
        branches = [read.branches for read in reads if read.branches]
        return accesses, None if self.reader.layout.index is None else branches

    def saw(self, read: Read) -> None:
        """Notes another read of the MTD device."""
        list(self.buffer.read(read))
        self.reader.saw(read)

    def copy(self) -> State:
        """Another one that holds the same."""
        other = copy.copy(self)
        other.buffer = copy.copy(self.buffer)
        other.reader = self.reader.copy()
        return other
