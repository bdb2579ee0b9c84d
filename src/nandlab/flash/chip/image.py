# SPDX-License-Identifier: GPL-2.0-or-later
"""A chip's image: the file ``image`` of its debugfs folder, and files that other tools read.

``split`` makes two files of it: the cells in the layout of ``nanddump --oob`` (with bad blocks
dumped), which any NAND tool reads, and a JSON sidecar with geometry, bad blocks, wear, page
states and checksums. ``join`` makes the image again, byte for byte. The layout is that of
``device/modules/simnand/image.h``.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from mmap import mmap
from pathlib import Path
from typing import Any

from nandlab.base.errors import NandlabError, UsageError
from nandlab.base.gate import read_bytes, read_json
from nandlab.catalog.files import validate_data
from nandlab.flash.chip.sidecar import BLOCKS_MAX, Sidecar, SidecarBlock

IMAGE_MAGIC, BLOCK_MAGIC, END_MAGIC = 0x474D494E, 0x4B4C424E, 0x444E454E
VERSION = 1
SIDECAR_FORMAT = 1
IMAGE_HEADER = struct.Struct("<IHHIIIIQQQQII")
BLOCK_HEADER = struct.Struct("<IIIIIIII")
IMAGE_END = struct.Struct("<IIQII")
FACTORY_BAD, WORN_OUT = 1, 2
assert (IMAGE_HEADER.size, BLOCK_HEADER.size, IMAGE_END.size) == (64, 32, 24)


@dataclass(frozen=True)
class ChipGeometry:
    """The chip's shape, in MTD's words."""

    writesize: int
    oobsize: int
    erasesize: int
    blocks: int

    @property
    def possible(self) -> bool:
        """Whether a chip can have it: whole pages in a block, and at least one of each."""
        whole = self.writesize > 0 and self.erasesize > 0 and not self.erasesize % self.writesize
        return whole and 0 < self.blocks <= BLOCKS_MAX

    @property
    def pages_per_block(self) -> int:
        return self.erasesize // self.writesize

    @property
    def block_bytes(self) -> int:
        """Bytes of a block's cells, spare areas included."""
        return self.pages_per_block * (self.writesize + self.oobsize)


@dataclass(frozen=True)
class ChipBlock:
    """A block that is not as new."""

    index: int
    wear: int
    disturb: int
    flags: int
    flips: list[tuple[int, int]]
    states: list[int]
    """State of each page; empty: all erased."""
    cells: bytes = field(repr=False)
    """All of the block's cells; empty: all erased."""


@dataclass(frozen=True)
class ChipImage:
    """A chip as an image has it."""

    geometry: ChipGeometry
    op_seq: int
    programs: int
    erases: int
    blocks: list[ChipBlock]

    def bad(self, flag: int) -> list[int]:
        """Blocks that have a flag."""
        return [b.index for b in self.blocks if b.flags & flag]

    def nanddump(self, blocks: int | None = None) -> bytes:
        """The cells of the first blocks (all), as ``nanddump --oob --bb=dumpbad`` writes them."""
        count = self.geometry.blocks if blocks is None else blocks
        cells = bytearray(b"\xff" * (count * self.geometry.block_bytes))
        for block in self.blocks:
            if block.index >= count and block.cells:
                raise ValueError(f"block {block.index} is not empty and past the {count} dumped")
            at = block.index * self.geometry.block_bytes
            cells[at : at + len(block.cells)] = block.cells
        return bytes(cells)


class _ByteReader:
    def __init__(self, data: bytes | mmap) -> None:
        self.data = data
        self.at = 0

    def take(self, count: int) -> bytes:
        taken = self.data[self.at : self.at + count]
        if len(taken) != count:
            raise NandlabError("image: truncated")
        self.at += count
        return taken


def _verify_checksum(packed: bytes, payload: bytes = b"") -> None:
    """Checks the checksum: a struct's last word, of the struct (with 0 there) and the payload."""
    (crc,) = struct.unpack("<I", packed[-4:])
    if zlib.crc32(payload, zlib.crc32(packed[:-4] + bytes(4))) != crc:
        raise NandlabError("image: corrupt, a checksum is wrong")


def _add_checksum(packed: bytes, payload: bytes = b"") -> bytes:
    crc = zlib.crc32(payload, zlib.crc32(packed))
    return packed[:-4] + struct.pack("<I", crc) + payload


def decode_chip_image(data: bytes | mmap) -> ChipImage:
    """The chip in an image; NandlabError says what is wrong with it."""
    image, end = _decode_image(data)
    if end != len(data):
        raise NandlabError("image: longer than its end")
    return image


def decode_leading_chip_image(data: bytes) -> tuple[ChipImage, bytes]:
    """The chip in an image that data begins with, and what comes after it."""
    image, end = _decode_image(data)
    return image, data[end:]


def decode_chip_images(data: bytes) -> Iterator[ChipImage]:
    """The chips of images that follow each other."""
    at = 0
    while at < len(data):
        chip, at = _decode_image(data, at)
        yield chip


def _decode_image(data: bytes | mmap, at: int = 0) -> tuple[ChipImage, int]:
    """The chip in an image that begins there, and where the image ends."""
    reader = _ByteReader(data)
    reader.at = at
    head = reader.take(IMAGE_HEADER.size)
    magic, version, size, *fields = IMAGE_HEADER.unpack(head)
    if magic != IMAGE_MAGIC or size != IMAGE_HEADER.size:
        raise NandlabError("image: not an image of a simnand chip")
    if version != VERSION:
        raise NandlabError("image: of another version of the format")
    _verify_checksum(head)
    geometry = ChipGeometry(*fields[:4])
    if not geometry.possible:
        raise NandlabError("image: corrupt, of a geometry that no chip has")
    blocks: list[ChipBlock] = []
    while True:
        word = reader.data[reader.at : reader.at + 4]
        if word == struct.pack("<I", END_MAGIC):
            break
        blocks.append(_decode_block(reader, geometry))
    end = reader.take(IMAGE_END.size)
    _verify_checksum(end)
    _, records, op_seq, _, _ = IMAGE_END.unpack(end)
    if (records, op_seq) != (len(blocks), fields[4]):
        raise NandlabError("image: the chip was written while it was saved")
    return ChipImage(geometry, fields[4], fields[5], fields[6], blocks), reader.at


def _decode_block(reader: _ByteReader, geometry: ChipGeometry) -> ChipBlock:
    head = reader.take(BLOCK_HEADER.size)
    magic, index, wear, disturb, flags, pages, flips, _ = BLOCK_HEADER.unpack(head)
    whole = pages in (0, geometry.pages_per_block)
    if magic != BLOCK_MAGIC or index >= geometry.blocks or not whole:
        raise NandlabError("image: corrupt, no block where one should be")
    cells_at = 8 * flips + 2 * pages
    payload = reader.take(cells_at + (geometry.block_bytes if pages else 0))
    _verify_checksum(head, payload)
    words = struct.unpack_from(f"<{2 * flips}I", payload)
    states = list(struct.unpack_from(f"<{pages}H", payload, 8 * flips))
    pairs = list(zip(words[::2], words[1::2], strict=True))
    return ChipBlock(index, wear, disturb, flags, pairs, states, payload[cells_at:])


def encode_chip_image(image: ChipImage) -> bytes:
    """The image as a chip loads it: ``encode(decode(x)) == x``."""
    g = image.geometry
    shape = (g.writesize, g.oobsize, g.erasesize, g.blocks)
    numbers = (image.op_seq, image.programs, image.erases)
    parts = [
        _add_checksum(
            IMAGE_HEADER.pack(IMAGE_MAGIC, VERSION, IMAGE_HEADER.size, *shape, *numbers, 0, 0, 0)
        )
    ]
    for b in image.blocks:
        payload = b"".join(struct.pack("<II", *flip) for flip in b.flips)
        payload += struct.pack(f"<{len(b.states)}H", *b.states) + b.cells
        fields = (b.index, b.wear, b.disturb, b.flags, len(b.states), len(b.flips))
        parts.append(_add_checksum(BLOCK_HEADER.pack(BLOCK_MAGIC, *fields, 0), payload))
    parts.append(_add_checksum(IMAGE_END.pack(END_MAGIC, len(image.blocks), image.op_seq, 0, 0)))
    return b"".join(parts)


def write_cells_and_sidecar(
    image: ChipImage,
    cells: Path,
    sidecar: Path,
    dump_blocks: int | None = None,
    extra_keys: dict[str, Any] | None = None,
) -> None:
    """Writes the cells (nanddump --oob layout) and the JSON sidecar.

    dump_blocks: write the cells of only the first blocks, such as a partition, which must hold
    all data; None: all blocks. more: further keys of the sidecar, which ``join`` ignores.
    """
    dump = image.nanddump(dump_blocks)
    blocks = [
        {k: v for k, v in asdict(b).items() if k != "cells"} | {"held": bool(b.cells)}
        for b in image.blocks
    ]
    sidecar_data = {
        "format": SIDECAR_FORMAT,
        "geometry": asdict(image.geometry),
        "op_seq": image.op_seq,
        "programs": image.programs,
        "erases": image.erases,
        "factory_bad": image.bad(FACTORY_BAD),
        "worn_out": image.bad(WORN_OUT),
        "cells_bytes": len(dump),
        "cells_crc32": zlib.crc32(dump),
        "blocks": blocks,
        **(extra_keys or {}),
    }
    cells.write_bytes(dump)
    sidecar.write_text(json.dumps(sidecar_data) + "\n")


def read_cells_and_sidecar(cells: Path, sidecar: Path) -> ChipImage:
    """The image of two files that ``split`` wrote; UsageError if they do not fit together."""
    sidecar_data = validate_data(read_json(sidecar), Sidecar, str(sidecar))
    geometry = ChipGeometry(**sidecar_data.geometry.model_dump())
    dump = read_bytes(cells, geometry.blocks * geometry.block_bytes)
    if len(dump) != sidecar_data.cells_bytes:
        raise UsageError(f"{cells}: {len(dump)} bytes, not {sidecar_data.cells_bytes}: truncated?")
    if zlib.crc32(dump) != sidecar_data.cells_crc32:
        raise UsageError(f"{cells}: corrupt, its checksum is not the sidecar's")
    if len(dump) % geometry.block_bytes:
        raise UsageError(f"{cells}: of a chip of another geometry")
    if any((b.index + 1) * geometry.block_bytes > len(dump) for b in sidecar_data.blocks if b.held):
        raise UsageError(f"{cells}: ends before the last block that {sidecar} tells of")
    blocks = [_make_joined_image(block, dump, geometry) for block in sidecar_data.blocks]
    return ChipImage(
        geometry, sidecar_data.op_seq, sidecar_data.programs, sidecar_data.erases, blocks
    )


def _make_joined_image(told: SidecarBlock, dump: bytes, geometry: ChipGeometry) -> ChipBlock:
    at = told.index * geometry.block_bytes
    cells = dump[at : at + geometry.block_bytes] if told.held else b""
    return ChipBlock(**told.model_dump(exclude={"held"}), cells=cells)
