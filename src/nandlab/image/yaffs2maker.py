# SPDX-License-Identifier: GPL-2.0-or-later
"""A YAFFS2 image in mkyaffs2image's order: each object's header once, a file's data behind it.

A tool knows a file's size beforehand, so its image has no dead page. All chunks have the lowest
sequence number, and no block has a summary. The rest of the last block is 0xff. Other than the
tool's: the root has no header, the tags lie where the kernel's driver reads them, and names, which
the tool takes as the folder gives them, are sorted.

Sources: utils/mkyaffs2image.c of the YAFFS2 tree (the order of chunks); yaffs_guts.h (the header);
yaffs_packedtags2.h (the tags).
"""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nandlab.base import gate
from nandlab.base.errors import NandlabError
from nandlab.flash.layouts.yaffs1 import (
    DIRECTORY,
    FILE_OBJECT,
    HARDLINK,
    HEADER,
    ROOT_OBJECT,
    SIZE_AT,
    SIZE_HIGH_AT,
    STANDS_FOR_AT,
)
from nandlab.flash.layouts.yaffs2 import (
    CODED_TAGS_BYTES,
    SEQUENCE_MIN,
    TAGS_AT,
    TAGS_BYTES,
    compute_tags_ecc,
)
from nandlab.image.tree import FileTree, TreeEntry, escape_file_name

FIRST_OBJECT = 257
"""The number of the first object that is made; those below are the core's own."""
SYMLINK = 2
ATTRIBUTES = struct.Struct("<6I")
"""Mode, owner, group, and times of access, of change of data, of change of the object, s."""
ATTRIBUTES_AT, TARGET_AT, DEVICE_AT = 268, 300, 460
HEADER_COUNT = 0xFFFF
"""What tags of a header have where those of data have their bytes."""
UNUSED = 0xFFFF
TOOL_TAGS_AT = 0
"""Where mkyaffs2image puts tags in a spare area, for a driver to move them."""


@dataclass(frozen=True)
class PageShape:
    """Pages of the chip, and where its driver has the tags."""

    page: int
    """Data bytes, 1024 at least."""
    oob: int
    """Spare bytes; with fewer than 30 there is no room for tags with their code."""
    pages_per_block: int
    tags_at: int = TAGS_AT


@dataclass(frozen=True)
class _Chunk:
    data: bytes
    owner: int
    number: int
    """From 1 in a file; 0: a header."""
    count: int


def make_yaffs2_image(content: FileTree, folder: Path, shape: PageShape, *, padded: bool) -> bytes:
    """All pages of the image, each followed by its spare area.

    padded: up to the end of the last block, as the tool's file is. NandlabError if a file is no
    longer as the tree has it.
    """
    chunks = list(_list_chunks(content, folder, shape.page))
    count = len(chunks)
    if padded:
        count = -(-count // shape.pages_per_block) * shape.pages_per_block
    pages = np.full((count, shape.page + shape.oob), 0xFF, dtype=np.uint8)
    for row, chunk in zip(pages, chunks, strict=False):
        row[: len(chunk.data)] = np.frombuffer(chunk.data, dtype=np.uint8)
    words = [(SEQUENCE_MIN, c.owner, c.number, c.count) for c in chunks]
    tags = np.array(words, dtype="<u4").view(np.uint8).reshape(-1, TAGS_BYTES)
    at = shape.page + shape.tags_at
    written = pages[: len(chunks)]
    written[:, at : at + TAGS_BYTES] = tags
    code = compute_tags_ecc(tags).astype("<u4").view(np.uint8).reshape(len(tags), -1)
    written[:, at + TAGS_BYTES : at + CODED_TAGS_BYTES] = code
    return pages.tobytes()


def _list_chunks(content: FileTree, folder: Path, page: int) -> Iterator[_Chunk]:
    """Chunks in their order: an object's header, its data, then what is in it."""
    inside: dict[str, list[TreeEntry]] = {}
    for entry in content:
        if entry.path:
            inside.setdefault(entry.path.rpartition("/")[0], []).append(entry)
    numbers: dict[int, int] = {}
    waiting = [(entry, ROOT_OBJECT) for entry in reversed(inside.get("", []))]
    number = FIRST_OBJECT
    while waiting:
        entry, parent = waiting.pop()
        first = numbers.get(entry.inode) if entry.is_file else None
        yield _Chunk(_encode_header(entry, parent, first, page), number, 0, HEADER_COUNT)
        if first is None and entry.is_file:
            numbers[entry.inode] = number
            yield from _read_data_chunks(entry, folder, number, page)
        waiting += [(e, number) for e in reversed(inside.get(entry.path, []))]
        number += 1


def _encode_header(entry: TreeEntry, parent: int, first: int | None, page: int) -> bytes:
    """The page of an object's header; first: the object that a hard link is a name of."""
    data = bytearray(b"\xff" * page)
    name = os.fsencode(entry.path.rpartition("/")[2])
    kind = HARDLINK if first is not None else _find_kind(entry)
    HEADER.pack_into(data, 0, kind, parent, UNUSED, name)
    if first is not None:
        struct.pack_into("<I", data, STANDS_FOR_AT, first)
        return bytes(data)
    times = [entry.mtime_s] * 3
    ATTRIBUTES.pack_into(data, ATTRIBUTES_AT, entry.mode, entry.uid, entry.gid, *times)
    struct.pack_into("<I", data, DEVICE_AT, 0)
    if entry.is_file:
        struct.pack_into("<I", data, SIZE_AT, entry.size & 0xFFFFFFFF)
        struct.pack_into("<I", data, SIZE_HIGH_AT, entry.size >> 32)
    if entry.target is not None:
        target = os.fsencode(entry.target)
        data[TARGET_AT:DEVICE_AT] = target.ljust(DEVICE_AT - TARGET_AT, b"\0")
    return bytes(data)


def _find_kind(entry: TreeEntry) -> int:
    kinds = {stat.S_IFREG: FILE_OBJECT, stat.S_IFDIR: DIRECTORY, stat.S_IFLNK: SYMLINK}
    return kinds[stat.S_IFMT(entry.mode)]


def _read_data_chunks(entry: TreeEntry, folder: Path, number: int, page: int) -> Iterator[_Chunk]:
    """A file's data, a page a chunk; an empty file has none."""
    try:
        with gate.open_regular_file(folder / entry.path) as file:
            data = file.read(entry.size + 1)
    except OSError as e:
        name = escape_file_name(entry.path)
        raise NandlabError(f"{name}: cannot be read: {e.strerror}") from None
    if len(data) != entry.size:
        raise NandlabError(f"{escape_file_name(entry.path)} changed while it was read")
    for chunk, at in enumerate(range(0, len(data), page), 1):
        piece = data[at : at + page]
        yield _Chunk(piece, number, chunk, len(piece))
