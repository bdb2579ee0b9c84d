# SPDX-License-Identifier: GPL-2.0-or-later
"""All decoders, by the names of their layouts, and what is on an image without one.

A decoder is ``DECODER`` of a module of this folder. A file system of the catalog has the decoder
that its file names, or else the one of its own name.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, TypeVar

from nandlab.base.errors import UsageError
from nandlab.base.registry import find_module_values
from nandlab.catalog.files import list_noun_names, load_noun
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.flash.layouts.cells import Partition, is_erased

if TYPE_CHECKING:
    from nandlab.flash.layouts.jffs2nodes import DroppedNode
    from nandlab.flash.layouts.layout import Layout

T = TypeVar("T")
KNOWN_MIN = 2
"""Blocks that begin as a file system does, where one alone may do so by chance."""
FALLBACK = "yaffs2"
"""The layout of a block that begins as none does: YAFFS2's blocks begin as its files do."""


@dataclass(frozen=True)
class Decoder:
    """How a layout is found in a partition."""

    name: str
    """Of the layout."""
    decode: Callable[..., Layout]
    """Takes the partition, of volumes also ``volume``; UsageError says what is wrong with it."""
    salvage: Callable[..., tuple[Layout, list[DroppedNode]]] | None = None
    """The same of a file system that may be mounted, and what of it is not whole; None: it is not
    read while it is mounted."""
    begins: tuple[bytes, ...] = ()
    """First bytes of a written block; none: it is not recognised by them."""
    needs_spare: bool = False
    """Whether it keeps in the spare areas what belongs to what."""
    volumes: bool = False
    """Whether it is in a volume of UBI."""


@cache
def list_decoders() -> dict[str, Decoder]:
    """All decoders, by name."""
    found = find_module_values("nandlab.flash.layouts", "DECODER").values()
    return {decoder.name: decoder for decoder in found}


def find_decoder(filesystem: str) -> Decoder | None:
    """The decoder of a file system; None: its place on flash is not known."""
    named = filesystem
    if named not in list_decoders() and named in list_noun_names("filesystems"):
        named = load_noun("filesystems", filesystem, FilesystemModel).decoder
    return list_decoders().get(named)


def _require_decoder(filesystem: str, volume: str | None) -> Decoder:
    """UsageError if there is none, or a UBI volume is named and the file system is in none."""
    decoder = find_decoder(filesystem)
    if decoder is None:
        known = ", ".join(sorted(list_decoders()))
        raise UsageError(f"{filesystem}: its place on flash is not known; known are {known}")
    if volume is not None and not decoder.volumes:
        raise UsageError(f"--volume {volume}: {filesystem} is in no volume of UBI")
    return decoder


def decode_layout(partition: Partition, filesystem: str, volume: str | None = None) -> Layout:
    """The layout of a partition; UsageError says what is wrong with it.

    volume: name or number of the UBI volume that is read; None: the one that has the file system.
    """
    decoder = _require_decoder(filesystem, volume)
    how = partial(decoder.decode, volume=volume) if decoder.volumes else decoder.decode
    return _call_decoder(how, partition, filesystem)


def salvage_layout(
    partition: Partition, filesystem: str, volume: str | None = None
) -> tuple[Layout, list[DroppedNode]]:
    """The layout of a partition whose file system may be mounted, and what of it is not whole.

    volume: as for decode(). UsageError says what is wrong with it.
    """
    decoder = _require_decoder(filesystem, volume)
    if decoder.salvage is None:
        return decode_layout(partition, filesystem), []
    how = partial(decoder.salvage, volume=volume) if decoder.volumes else decoder.salvage
    return _call_decoder(how, partition, filesystem)


def _call_decoder(how: Callable[[Partition], T], partition: Partition, filesystem: str) -> T:
    try:
        return how(partition)
    except (struct.error, IndexError, KeyError, ValueError) as e:
        raise UsageError(f"damaged, or no {filesystem}: {e!r}. Nothing is summed") from None


def detect_filesystem(partition: Partition) -> str:
    """The file system on a partition, by the first bytes of its written blocks.

    The first of them tells. If it begins as none does, for damage, most of them must agree on
    JFFS2; all else may be YAFFS2, whose blocks begin as its files do. A block that begins blank
    tells nothing: in a dump without ECC, an erased one may have wrong bits.
    """
    written = list(_read_block_marks(partition))
    marks = [mark for _, mark in written if mark] or [FALLBACK] * len(written)
    if not marks:
        raise UsageError("every block is erased: name the file system with --fs")
    if marks[0] == FALLBACK and marks.count("jffs2") * 2 > len(marks):
        return "jffs2"
    refuse_late_begin(partition)
    return marks[0]


def refuse_late_begin(partition: Partition) -> None:
    """UsageError where another thing, such as a bootloader, lies before a file system.

    Of YAFFS2, and of file systems of block devices, a file's data may begin as another file system
    does. So most blocks from there on must begin so, and of all where there are spare areas, by
    which YAFFS2 may be read.
    """
    marks = [(block, mark) for block, mark in _read_block_marks(partition) if mark]
    begins = [(block, mark) for block, mark in marks if mark != FALLBACK]
    if not begins or marks[0] == begins[0]:
        return
    block, mark = begins[0]
    behind = [b for b, _ in marks if partition.oobsize or b >= block]
    if len(begins) < KNOWN_MIN or len(begins) * 2 <= len(behind):
        return
    raise UsageError(
        f"{mark} begins at block {block}, and before it lies what is none of it, such as a "
        f"bootloader: give --offset {block * partition.erasesize}, and --partition-mib if "
        "something follows"
    )


def _read_block_marks(partition: Partition) -> Iterator[tuple[int, str]]:
    """What each written block begins as; empty: as an erased one."""
    length = max(len(begin) for d in list_decoders().values() for begin in d.begins)
    for block in range(partition.blocks):
        if block in partition.bad or partition.erased(block):
            continue
        begin = partition.begin(block, length)
        if begin.strip(b"\xff") or not is_erased(partition.data(block)):
            yield block, _recognise_mark(begin) if begin.strip(b"\xff") else ""


def _recognise_mark(begin: bytes) -> str:
    decoders = list_decoders().values()
    return next((d.name for d in decoders if begin.startswith(d.begins)), FALLBACK)
