# SPDX-License-Identifier: GPL-2.0-or-later
"""All file systems whose reads are modelled, and what the kernel holds between their reads."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from types import MappingProxyType

from nandlab.base.errors import UsageError
from nandlab.base.registry import find_module_values
from nandlab.catalog.files import load_noun
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.flash.layouts.decoders import find_decoder
from nandlab.flash.layouts.layout import Layout
from nandlab.flash.reading.reader import FilesystemReader
from nandlab.flash.reading.reads import (
    FilePieces,
    FirstOpen,
    MtdRead,
    PageAccess,
    PageBuffer,
    ReadCall,
)

UBI_ALONE = "ubi"
"""What a layout of UBI is called that has no volume with UBIFS (flash/layouts/ubifs.py)."""
NO_OPTIONS: Mapping[str, str] = MappingProxyType({})


def find_filesystem_reader(filesystem: str, where: object = None) -> type[FilesystemReader]:
    """How a file system reads; UsageError if that is not known. where: what the message names."""
    decoder = find_decoder(filesystem)
    reader = _map_readers().get(decoder.name) if decoder else None
    if reader is None:
        named = f"{where}: {filesystem}" if where else filesystem
        if filesystem == UBI_ALONE:
            raise UsageError(f"{named}: none of its volumes has a UBIFS: nothing of it is modelled")
        why = load_noun("filesystems", filesystem, FilesystemModel).unmodelled_reads
        raise UsageError(f"{named}: how it reads is not modelled: {why}")
    return reader


@cache
def _map_readers() -> dict[str, type[FilesystemReader]]:
    """How file systems read, by the names of their layouts."""
    found = find_module_values("nandlab.flash.reading", "READER").values()
    return {reader.layout_name: reader for reader in found}


def _list_flash_pages(reads: Iterable[MtdRead], buffer: PageBuffer) -> list[int]:
    """The pages that the chip reads, sorted."""
    every = (access for read in reads for access in buffer.read(read))
    return sorted(access.page for access in every if not access.hit)


class KernelState:
    """What the kernel holds between reads: the NAND core's page, and what the file system keeps."""

    def __init__(
        self, layout: Layout, options: Mapping[str, str] = NO_OPTIONS, *, mounted: bool = False
    ) -> None:
        """options: of the file system, as the catalog names them; those left out are default.
        mounted: whether it was mounted after its files were written."""
        self.buffer = PageBuffer(layout.writesize)
        self.reader = find_filesystem_reader(layout.filesystem)(layout, options, mounted=mounted)

    def read(self, file: FilePieces, page: int) -> ReadCall:
        """Reads a page of a file."""
        asked = list(self.reader.page(file, page))
        return ReadCall(*self._access_pages(asked), file, page, file.list_pieces(page))

    def first_open(self, owner: int, folder: int | None = None) -> FirstOpen:
        """Looks up a file that is not in memory, in that folder if it has names in several."""
        asked = self.reader.open(owner, folder)
        before = copy.copy(self.buffer)
        opened = FirstOpen(*self._access_pages(asked), self.reader.nodes(owner, asked))
        others = self.reader.open_otherwise(owner)
        if not others:
            return opened
        reads = [_list_flash_pages(order, copy.copy(before)) for order in others]
        same = all(pages == sorted(opened.flash) for pages in reads)
        return replace(opened, ordered=False, counted=same)

    def _access_pages(self, reads: Sequence[MtdRead]) -> tuple[list[PageAccess], list[int] | None]:
        """The flash pages of reads, and the branches of those of the index."""
        accesses = [access for read in reads for access in self.buffer.read(read)]
        branches = [read.branches for read in reads if read.branches]
        return accesses, None if self.reader.layout.index is None else branches

    def note_read(self, read: MtdRead) -> None:
        """Notes another read of the MTD device."""
        list(self.buffer.read(read))
        self.reader.note_read(read)

    def copy(self) -> KernelState:
        """Another one that holds the same."""
        other = copy.copy(self)
        other.buffer = copy.copy(self.buffer)
        other.reader = self.reader.copy()
        return other
