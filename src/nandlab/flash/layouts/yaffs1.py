# SPDX-License-Identifier: GPL-2.0-or-later
"""The YAFFS1 layout of YAFFS2, on pages of 512 bytes; and the header that both layouts share.

Eight bytes of tags at byte 8 of a page's OOB, with a mark that a later program clears when the
chunk dies. Source: the core in U-Boot's fs/yaffs2: yaffs_packedtags1.h, yaffs_tagscompat.c (the
tags' code), yaffs_yaffs1.c (the scan), yaffs_guts.h (the header).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nandlab.flash.layouts.cells import Partition
from nandlab.flash.layouts.layout import (
    NO_OWNER,
    ByteKind,
    Layout,
    LayoutCollector,
    decode_file_name,
    map_numbers_to_paths,
    map_paths_to_numbers,
    refuse_damaged_image,
)

TAGS_AT, TAGS = 8, 8
PAGE = 512
FILE_OBJECT, DIRECTORY, HARDLINK, SPECIAL = 1, 3, 4, 5
ROOT_OBJECT, UNLINKED, DELETED_OBJECTS = 1, 3, 4
HIDDEN_PARENTS = (UNLINKED, DELETED_OBJECTS)
HEADER = struct.Struct("<IIH256s")
SIZE_AT, STANDS_FOR_AT, SIZE_HIGH_AT, SHADOWS_AT = 292, 296, 496, 504
NO_SIZE = 0xFFFFFFFF


@dataclass(frozen=True)
class ObjectHeader:
    """What a header chunk says of its object."""

    kind: int
    parent: int
    raw_name: bytes
    size: int
    shadows: int
    """An object that this one replaces; 0: none."""
    shrinks: bool
    stands_for: int
    """Of a hard link, which is an object of its own: the file that it is a name of; 0: of none."""


def parse_object_header(page: bytes) -> ObjectHeader | None:
    """The header in a page; None if it cannot be one."""
    kind, parent, _, name = HEADER.unpack_from(page)
    low, high = (struct.unpack_from("<I", page, offset)[0] for offset in (SIZE_AT, SIZE_HIGH_AT))
    shadows, shrinks = struct.unpack_from("<iI", page, SHADOWS_AT)
    if not FILE_OBJECT <= kind <= SPECIAL:
        return None
    size = low if high == NO_SIZE else low | high << 32
    if kind != FILE_OBJECT:
        size = 0
    (file,) = struct.unpack_from("<I", page, STANDS_FOR_AT)
    links = file if kind == HARDLINK else 0
    return ObjectHeader(kind, parent, name, size, max(0, shadows), shrinks == 1, links)


def decode_object_name(head: ObjectHeader) -> str:
    """The object's name, for people."""
    return decode_file_name(head.raw_name.split(b"\0", 1)[0])


def map_paths_to_objects(
    names: list[tuple[int, int, str]], reached: dict[int, str], stands_for: dict[int, int]
) -> dict[str, int]:
    """Each path -> the object it leads to, which of a hard link is the file that it stands for."""
    return {p: stands_for.get(n) or n for p, n in map_paths_to_numbers(names, reached).items()}


def _make_bit_numbers() -> NDArray[np.uint16]:
    """For each place and value of a byte, the numbers of its set bits, from 1, xored."""
    table = np.zeros((TAGS, 256), dtype=np.uint16)
    for place in range(TAGS):
        for value in range(256):
            for bit in range(8):
                if value >> bit & 1:
                    table[place, value] ^= place * 8 + bit + 1
    return table


BIT_NUMBERS = _make_bit_numbers()
ECC_MASK = np.uint32(0xFFF << 18)
ALIVE = np.uint32(1 << 30)


def compute_tags_ecc(tags: NDArray[Any]) -> NDArray[np.uint16]:
    """The code of each row of two words, as it was when the chunk lived."""
    plain = tags.copy()
    plain[:, 1] = (plain[:, 1] & ~ECC_MASK) | ALIVE
    as_bytes = plain.view(np.uint8).reshape(-1, TAGS)
    found = BIT_NUMBERS[np.arange(TAGS), as_bytes]
    code: NDArray[np.uint16] = np.bitwise_xor.reduce(found, axis=1).astype(np.uint16)
    return code


def decode_yaffs1(partition: Partition) -> Layout:
    """Where everything is; UsageError says what is wrong with the image."""
    if partition.oobsize < TAGS_AT + TAGS:
        refuse_damaged_image(
            f"an OOB of {partition.oobsize} bytes has no room for YAFFS1's tags", 0, 0
        )
    return _ChunkScan(partition).run()


class _ChunkScan:
    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.walk = LayoutCollector()
        self.headers: dict[int, tuple[int, int, ObjectHeader]] = {}
        self.chunks: dict[tuple[int, int], tuple[int, int, int]] = {}
        self.dead: list[tuple[int, str]] = []

    def run(self) -> Layout:
        partition = self.partition
        for block in range(partition.blocks):
            base = block * partition.erasesize
            if block in partition.bad:
                self.walk.add(base, partition.erasesize, ByteKind.BAD, "bad blocks")
            elif partition.erased(block):
                self.walk.add(base, partition.erasesize, ByteKind.FREE, "erased")
            else:
                self._block(block, base)
        names = [
            (h.parent, n, decode_object_name(h))
            for n, (_, _, h) in self.headers.items()
            if n != ROOT_OBJECT and h.parent not in HIDDEN_PARENTS
        ]
        reached = map_numbers_to_paths(names, ROOT_OBJECT)
        stands_for = {n: h.stands_for for n, (_, _, h) in self.headers.items()}
        counts = self._files(reached)
        return Layout(
            "yaffs2", partition.bytes, partition.erasesize, partition.writesize,
            self.walk.finish(partition.bytes), reached, self.walk.sizes, self.walk.pieces, counts,
            read_data=partition.read_data, chunk_bytes=PAGE,
            names=map_paths_to_objects(names, reached, stands_for),
        )  # fmt: skip

    def _block(self, block: int, base: int) -> None:
        partition = self.partition
        data = partition.data(block)
        spare = partition.spare(block)
        tags = np.ascontiguousarray(spare[:, TAGS_AT : TAGS_AT + TAGS]).view("<u4")
        plain = np.frombuffer(data, dtype=np.uint8).reshape(partition.pages, partition.writesize)
        tagged = (spare[:, TAGS_AT : TAGS_AT + TAGS] != 0xFF).any(axis=1)
        written = tagged | (plain != 0xFF).any(axis=1)
        coded = (tags[:, 1] >> 18 & 0xFFF).astype(np.uint16)
        wrong = written & (~tagged | (compute_tags_ecc(tags) != coded))
        if wrong.any():
            refuse_damaged_image(
                "a chunk's tags do not fit their code", block, int(wrong.argmax()) * PAGE
            )
        last = int(np.flatnonzero(written)[-1]) if written.any() else -1
        for page, (first, second) in enumerate(tags.tolist()):
            offset = base + page * PAGE
            if not written[page]:
                free = page > last
                self.walk.add(
                    offset,
                    PAGE,
                    ByteKind.FREE if free else ByteKind.SLACK,
                    "unwritten" if free else "skipped",
                )
            elif not second >> 30 & 1:
                self.dead.append((offset, "chunks marked deleted"))
            else:
                self._chunk(block, page, data, first, second)

    def _chunk(self, block: int, page: int, data: bytes, first: int, second: int) -> None:
        offset = block * self.partition.erasesize + page * PAGE
        chunk, serial, count = first & 0xFFFFF, first >> 20 & 3, first >> 22
        number = second & 0x3FFFF
        if chunk:
            if count > PAGE or not number:
                refuse_damaged_image("a chunk with impossible tags", block, page * PAGE)
            self.chunks[number, chunk] = self._newer(
                self.chunks.get((number, chunk)), (offset, serial, count)
            )
            return
        head = parse_object_header(data[page * PAGE : page * PAGE + PAGE])
        if head is None or not number:
            refuse_damaged_image("a header that is none", block, page * PAGE)
        previous = self.headers.get(number)
        if previous and (previous[1] + 1) & 3 != serial:
            self.dead.append((offset, "replaced headers"))
            return
        if previous:
            self.dead.append((previous[0], "replaced headers"))
        self.headers[number] = (offset, serial, head)

    def _newer(
        self, previous: tuple[int, int, int] | None, candidate: tuple[int, int, int]
    ) -> tuple[int, int, int]:
        """Of two chunks for one place the one that holds; the other is dead."""
        if previous is None:
            return candidate
        keep, lose = (
            (candidate, previous)
            if (previous[1] + 1) & 3 == candidate[1]
            else (previous, candidate)
        )
        self.dead.append((lose[0], "replaced chunks"))
        return keep

    def _files(self, reached: dict[int, str]) -> dict[str, int]:
        """Accounts for headers and data; gives what was counted."""
        data_chunks = 0
        for number, (offset, _, head) in self.headers.items():
            gone = head.parent in HIDDEN_PARENTS
            part = "deletion headers" if gone else "headers"
            self.walk.add(offset, PAGE, ByteKind.METADATA, part, NO_OWNER if gone else number)
            if head.kind == FILE_OBJECT and not gone:
                self.walk.sizes[number] = head.size
        for (number, chunk), (offset, _, count) in self.chunks.items():
            header = self.headers.get(number)
            if header is None or header[2].parent in HIDDEN_PARENTS:
                self.dead.append((offset, "chunks of deleted files"))
                continue
            if number not in reached or header[2].kind != FILE_OBJECT:
                refuse_damaged_image(
                    f"data of object {number}, which no name leads to",
                    offset // self.partition.erasesize,
                    offset % self.partition.erasesize,
                )
            data_chunks += 1
            self.walk.plain(offset, count, number, (chunk - 1) * PAGE)
            self.walk.add(
                offset + count, PAGE - count, ByteKind.SLACK, "rest of last pages", number
            )
        for offset, part in self.dead:
            self.walk.add(offset, PAGE, ByteKind.OBSOLETE, part)
        counts = {
            "headers": len(self.headers),
            "data_chunks": data_chunks,
            "obsolete_chunks": len(self.dead),
        }
        return counts
