# SPDX-License-Identifier: GPL-2.0-or-later
"""YAFFS2: chunks found by their tags, newest first, as a scan of the core takes them.

Source: the core in U-Boot's fs/yaffs2: yaffs_packedtags2 (tags), yaffs_guts.h (header of an
object, hidden directories), yaffs_yaffs2.c (what of two chunks holds), yaffs_ecc.c (tags' code).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nandlab.base.errors import UsageError
from nandlab.flash.layouts import yaffs1
from nandlab.flash.layouts.cells import Partition
from nandlab.flash.layouts.decoders import Decoder
from nandlab.flash.layouts.layout import (
    NO_OWNER,
    ByteKind,
    Layout,
    LayoutCollector,
    map_numbers_to_paths,
    refuse_damaged_image,
)
from nandlab.flash.layouts.yaffs1 import (
    DELETED_OBJECTS,
    FILE_OBJECT,
    HIDDEN_PARENTS,
    ROOT_OBJECT,
    decode_object_name,
)

TAGS_BYTES, CODED_TAGS_BYTES, TAGS_AT = 16, 28, 2
"""Bytes of tags without and with their own code; where they begin in a large page's OOB."""
CHECKPOINT = 0x21
SEQUENCE_MIN, HIGHEST = 0x1000, 0xEFFFFF00
SUMMARY_OBJECT = 0x10
EXTRA_FLAG, SHRINK, EXTRA_ALL = 0x80000000, 0x40000000, 0xF0000000
OBJECT_MAX, CHUNK_MAX = 0x3FFFF, 0xFFFFF
WHOLE_FILE = 1 << 62


@dataclass
class YaffsObject:
    """A file, folder or link as the scan knows it."""

    kind: int
    valid: bool = False
    """Its newest header has been met."""
    deleted: bool = False
    parent: int = 0
    name: str = ""
    size: int = 0
    stands_for: int = 0
    """Of a hard link: the file that it is a name of."""
    shrink: int = WHOLE_FILE
    """Older chunks from here on do not hold."""
    chunks: set[int] = field(default_factory=set)


@dataclass(frozen=True)
class LiveChunk:
    """A data chunk that holds."""

    at: int
    owner: int
    offset: int
    bytes: int


def decode_yaffs2(partition: Partition) -> Layout:
    """Where everything is, in either layout; UsageError says what is wrong with the image."""
    if partition.writesize < 1024:
        return yaffs1.decode_yaffs1(partition)
    return _ChunkScan(partition).run()


def _is_sequence_number(number: int) -> bool:
    return number == CHECKPOINT or SEQUENCE_MIN <= number <= HIGHEST


def _are_big_endian(tags: NDArray[Any]) -> bool:
    """Whether rows of tags make sense only with the bytes of each number in the other order."""
    return not _are_plausible_tags(tags) and _are_plausible_tags(tags.byteswap())


def _are_plausible_tags(tags: NDArray[Any]) -> bool:
    numbers = tags[:, 1] & ~np.uint32(EXTRA_ALL)
    ordered = (tags[:, 0] >= SEQUENCE_MIN) & (tags[:, 0] <= HIGHEST)
    return bool((ordered & (numbers > 0) & (numbers <= OBJECT_MAX)).all())


def _make_parity_table() -> NDArray[np.uint8]:
    """Bit 0: the byte's parity; bits 2 to 7: those of its bits by their number's three digits."""
    table = np.zeros(256, dtype=np.uint8)
    masks = ((0, 0xFF), (2, 0x55), (3, 0xAA), (4, 0x33), (5, 0xCC), (6, 0x0F), (7, 0xF0))
    for byte in range(256):
        for bit, mask in masks:
            table[byte] |= ((byte & mask).bit_count() & 1) << bit
    return table


PARITY = _make_parity_table()


def compute_tags_ecc(tags: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """The code of each row of tags: columns' parity, lines' parity, and its complement's."""
    found = PARITY[tags]
    odd = (found & 1).astype(bool)
    line = np.arange(tags.shape[1], dtype=np.uint32)
    column = (np.bitwise_xor.reduce(found, axis=1) >> 2).astype(np.uint32)
    lines = np.bitwise_xor.reduce(np.where(odd, line, 0).astype(np.uint32), axis=1)
    others = np.bitwise_xor.reduce(np.where(odd, ~line, 0).astype(np.uint32), axis=1)
    return np.stack([column, lines, others], axis=1)


def correct_spare_tags(spare: bytes) -> bytes | None:
    """A spare area with tags as the core takes them, and their code; it corrects one bit of either.

    None: it cannot correct them (yaffs_ecc.c), or the area has no room for tags with a code.
    """
    end, bounds = TAGS_AT + TAGS_BYTES, TAGS_AT + CODED_TAGS_BYTES
    if len(spare) < bounds:
        return None
    tags = np.frombuffer(spare[TAGS_AT:end], dtype=np.uint8).copy()
    found = compute_tags_ecc(tags[None, :])[0] ^ np.frombuffer(spare[end:bounds], dtype="<u4")
    column, line, other = int(found[0]) & 0xFF, int(found[1]), int(found[2])
    if line ^ other == 0xFFFFFFFF and (column ^ column >> 1) & 0x15 == 0x15 and line < TAGS_BYTES:
        tags[line] ^= 1 << ((column >> 5 & 1) << 2 | (column >> 3 & 1) << 1 | column >> 1 & 1)
    elif column.bit_count() + line.bit_count() + other.bit_count() > 1:
        return None
    return spare[:TAGS_AT] + tags.tobytes() + _encode_tags_code(tags) + spare[bounds:]


def add_tags_codes(spare: NDArray[np.uint8]) -> None:
    """Gives tags without a code their own, in place, where there is room: the core checks it.

    spare: a row for each page.
    """
    end = TAGS_AT + TAGS_BYTES
    if spare.shape[1] < TAGS_AT + CODED_TAGS_BYTES:
        return
    tags, code = spare[:, TAGS_AT:end], spare[:, end : TAGS_AT + CODED_TAGS_BYTES]
    bare = (tags != 0xFF).any(axis=1) & (code == 0xFF).all(axis=1)
    made = compute_tags_ecc(np.ascontiguousarray(tags[bare])).astype("<u4")
    code[bare] = made.view(np.uint8).reshape(-1, CODED_TAGS_BYTES - TAGS_BYTES)


def _encode_tags_code(tags: NDArray[np.uint8]) -> bytes:
    code: bytes = compute_tags_ecc(tags[None, :])[0].astype("<u4").tobytes()
    return code


class _ChunkScan:
    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.walk = LayoutCollector()
        self.objects: dict[int, YaffsObject] = {}
        self.live: list[LiveChunk] = []
        self.counts = dict.fromkeys(
            ("headers", "data_chunks", "obsolete_chunks", "summary_chunks", "checkpoint_chunks"), 0
        )
        self.layout: str | None = None

    def run(self) -> Layout:
        blocks = []
        for block in range(self.partition.blocks):
            base = block * self.partition.erasesize
            if block in self.partition.bad:
                self.walk.add(base, self.partition.erasesize, ByteKind.BAD, "bad blocks")
            elif self.partition.erased(block):
                self.walk.add(base, self.partition.erasesize, ByteKind.FREE, "erased")
            else:
                blocks.append(self._tags(block))
        # an image by a tool has one sequence number throughout: the core orders such by block
        for _, block, tags, written in sorted(blocks, key=lambda b: b[:2], reverse=True):
            self._block(block, tags, written)
        names = self._names()
        reached = map_numbers_to_paths(names, ROOT_OBJECT)
        stands_for = {n: o.stands_for for n, o in self.objects.items()}
        self._files(reached)
        partition = self.partition
        return Layout(
            "yaffs2", partition.bytes, partition.erasesize, partition.writesize,
            self.walk.finish(partition.bytes), reached, self.walk.sizes, self.walk.pieces,
            self.counts, read_data=partition.read_data, chunk_bytes=self.chunk_bytes,
            names=yaffs1.map_paths_to_objects(names, reached, stands_for),
        )  # fmt: skip

    def _find_tag_place(self, data: NDArray[np.uint8], spare: NDArray[np.uint8]) -> str:
        """Where the tags are; all chunks of a partition have them in one place."""
        if (spare[:, TAGS_AT : TAGS_AT + TAGS_BYTES] == 0xFF).all():
            return "inband"
        end = TAGS_AT + TAGS_BYTES
        written = (spare[:, TAGS_AT:end] != 0xFF).any(axis=1)
        coded = spare[written, end : TAGS_AT + CODED_TAGS_BYTES]
        return "plain" if coded.shape[1] < 12 or (coded == 0xFF).all() else "coded"

    def _tags(self, block: int) -> tuple[int, int, NDArray[Any], NDArray[np.bool_]]:
        """A block's sequence number, itself, the tags of its chunks, and which are written."""
        partition = self.partition
        data = np.frombuffer(partition.data(block), dtype=np.uint8).reshape(
            partition.pages, partition.writesize
        )
        spare = partition.spare(block)
        written = (data != 0xFF).any(axis=1) | (spare[:, TAGS_AT:] != 0xFF).any(axis=1)
        if not written.any():
            return 0, block, np.zeros((partition.pages, 4), dtype=np.uint32), written
        self.layout = self.layout or self._find_tag_place(data, spare)
        raw = (
            data[:, -TAGS_BYTES:]
            if self.layout == "inband"
            else spare[:, TAGS_AT : TAGS_AT + TAGS_BYTES]
        )
        tags = np.ascontiguousarray(raw).view("<u4")
        if _are_big_endian(tags[written]):
            raise UsageError(
                f"block {block}: YAFFS2 of a big-endian processor: only little-endian is read"
            )
        if self.layout == "coded":
            self._coded(block, raw, spare, written)
        sequences = {int(s) for s in tags[written, 0]}
        sequence = sequences.pop()
        if sequences or not _is_sequence_number(sequence):
            refuse_damaged_image(
                f"no YAFFS2 tags from byte {TAGS_AT} of the spare area, where the kernel's default "
                "layout has them, nor in another layout that most pages agree on",
                block,
                0,
            )
        return sequence, block, tags, written

    def _coded(
        self,
        block: int,
        raw: NDArray[np.uint8],
        spare: NDArray[np.uint8],
        written: NDArray[np.bool_],
    ) -> None:
        stored = np.ascontiguousarray(
            spare[:, TAGS_AT + TAGS_BYTES : TAGS_AT + CODED_TAGS_BYTES]
        ).view("<u4")
        wrong = (compute_tags_ecc(raw) != stored) & np.array(
            [[0x3F, -1 & 0xFFFFFFFF, -1 & 0xFFFFFFFF]]
        ) != 0
        stored_column = stored[:, 0] & 0xFF
        column = compute_tags_ecc(raw)[:, 0]
        bad = written & ((column != stored_column) | wrong[:, 1] | wrong[:, 2])
        if bad.any():
            refuse_damaged_image(
                "a chunk's tags do not fit their code",
                block,
                int(bad.argmax()) * self.partition.writesize,
            )

    def _block(self, block: int, tags: NDArray[Any], written: NDArray[np.bool_]) -> None:
        """Takes the chunks of a block, the last one first."""
        partition = self.partition
        last = int(np.flatnonzero(written)[-1]) if written.any() else -1
        for page in range(partition.pages - 1, -1, -1):
            offset = block * partition.erasesize + page * partition.writesize
            if not written[page]:
                free = page > last
                self._page(
                    offset,
                    ByteKind.FREE if free else ByteKind.SLACK,
                    "unwritten" if free else "skipped",
                )
                continue
            sequence, number, chunk, count = (int(v) for v in tags[page])
            if sequence == CHECKPOINT:
                self.counts["checkpoint_chunks"] += 1
                self._page(offset, ByteKind.METADATA, "checkpoint")
            elif number == SUMMARY_OBJECT and not chunk & EXTRA_FLAG:
                self.counts["summary_chunks"] += 1
                self._page(offset, ByteKind.METADATA, "summaries")
            elif chunk & EXTRA_FLAG or chunk == 0:
                self._header(block, page, number, chunk, count)
            else:
                self._data(block, page, number, chunk, count)

    def _page(self, offset: int, kind: ByteKind, part: str, owner: int = NO_OWNER) -> None:
        self.walk.add(offset, self.partition.writesize, kind, part, owner)
        if kind is ByteKind.OBSOLETE:
            self.counts["obsolete_chunks"] += 1

    @property
    def chunk_bytes(self) -> int:
        return self.partition.writesize - (TAGS_BYTES if self.layout == "inband" else 0)

    def _data(self, block: int, page: int, number: int, chunk: int, count: int) -> None:
        offset = block * self.partition.erasesize + page * self.partition.writesize
        if number > OBJECT_MAX or chunk > CHUNK_MAX or count > self.chunk_bytes:
            refuse_damaged_image(
                "a chunk with impossible tags", block, page * self.partition.writesize
            )
        yaffs_object = self.objects.setdefault(number, YaffsObject(FILE_OBJECT))
        file_offset = (chunk - 1) * self.chunk_bytes
        if (
            yaffs_object.deleted
            or chunk in yaffs_object.chunks
            or file_offset >= yaffs_object.shrink
        ):
            self._page(
                offset,
                ByteKind.OBSOLETE,
                "chunks of deleted files" if yaffs_object.deleted else "replaced chunks",
            )
            return
        yaffs_object.chunks.add(chunk)
        if not yaffs_object.valid:
            yaffs_object.size = max(yaffs_object.size, file_offset + count)
        self.live.append(LiveChunk(offset, number, file_offset, count))

    def _header(self, block: int, page: int, number: int, chunk: int, count: int) -> None:
        offset = block * self.partition.erasesize + page * self.partition.writesize
        first = page * self.partition.writesize
        head = yaffs1.parse_object_header(
            self.partition.read_data(offset, self.partition.writesize)
        )
        if head is None:
            refuse_damaged_image("a header that is none", block, first)
        if chunk & EXTRA_FLAG:
            number &= ~EXTRA_ALL
            if head.parent != chunk & ~EXTRA_ALL:
                refuse_damaged_image("a header whose parent is not that of its tags", block, first)
        shrinks = bool(chunk & SHRINK) if chunk & EXTRA_FLAG else head.shrinks
        yaffs_object = self.objects.setdefault(number, YaffsObject(head.kind))
        gone = head.parent in HIDDEN_PARENTS
        size = 0 if gone else head.size
        if yaffs_object.valid:
            if shrinks or gone:
                yaffs_object.shrink = min(yaffs_object.shrink, size)
            self._page(offset, ByteKind.OBSOLETE, "replaced headers")
            return
        yaffs_object.kind, yaffs_object.valid, yaffs_object.parent, yaffs_object.name = (
            head.kind,
            True,
            head.parent,
            decode_object_name(head),
        )
        yaffs_object.stands_for = head.stands_for
        yaffs_object.deleted = yaffs_object.deleted or gone
        yaffs_object.size = max(yaffs_object.size, size)
        yaffs_object.shrink = min(yaffs_object.shrink, size)
        self.counts["headers"] += 1
        self._page(offset, ByteKind.METADATA, "deletion headers" if gone else "headers", number)
        if head.shadows > 0:
            self.objects.setdefault(
                head.shadows,
                YaffsObject(
                    FILE_OBJECT, valid=True, deleted=True, parent=DELETED_OBJECTS, shrink=0
                ),
            )

    def _names(self) -> list[tuple[int, int, str]]:
        return [
            (o.parent, n, o.name)
            for n, o in self.objects.items()
            if o.valid and not o.deleted and n != ROOT_OBJECT
        ]

    def _files(self, reached: dict[int, str]) -> None:
        """Accounts for the data."""
        self.walk.sizes.update(
            (n, o.size) for n, o in self.objects.items() if n in reached and o.kind == FILE_OBJECT
        )
        for chunk in self.live:
            yaffs_object = self.objects[chunk.owner]
            if yaffs_object.deleted or not yaffs_object.valid:
                self._page(chunk.at, ByteKind.OBSOLETE, "chunks of deleted files")
                continue
            if chunk.owner not in reached:
                raise UsageError(
                    f"object {chunk.owner} has data and no name that leads to it: damaged"
                )
            self.counts["data_chunks"] += 1
            count = max(0, min(chunk.bytes, yaffs_object.size - chunk.offset))
            self.walk.plain(chunk.at, count, chunk.owner, chunk.offset)
            tail = self.partition.writesize - self.chunk_bytes
            self.walk.add(
                chunk.at + count,
                self.chunk_bytes - count,
                ByteKind.SLACK,
                "rest of last pages",
                chunk.owner,
            )
            self.walk.add(
                chunk.at + self.chunk_bytes, tail, ByteKind.METADATA, "tags in pages", chunk.owner
            )


DECODER = Decoder(
    "yaffs2", decode_yaffs2, lambda partition: (decode_yaffs2(partition), []), needs_spare=True
)
