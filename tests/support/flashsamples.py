# SPDX-License-Identifier: GPL-2.0-or-later
"""Chips that the board's own file systems wrote, one of each layout, and ways to damage them.

The chips are under flashes/, compressed. All hold the same small tree: folders, a hole, links,
attributes where there are any, a rename, a truncation, deletions, and data that compress.
"""

from __future__ import annotations

import lzma
import random
import struct
import zlib
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

from nandlab.flash.chip import image as chipimage
from nandlab.flash.chip.image import FACTORY_BAD, ChipBlock, ChipImage
from nandlab.flash.layouts import jffs2nodes, ubi, ubifsnodes
from nandlab.flash.layouts.cells import GARBLED_PAGE

FOLDER = Path(__file__).parents[1] / "flashes"
FILESYSTEM = {
    "jffs2": "jffs2",
    "ubifs": "ubifs",
    "yaffs2": "yaffs2",
    "yaffs1": "yaffs2",
    "nftl-fat32": "nftl-fat32",
}
"""Layout -> the file system's name in the catalog."""
BLOCKS = {"jffs2": 8, "ubifs": 256, "yaffs2": 16, "yaffs1": 64, "nftl-fat32": 64}
"""Layout -> blocks of its partition."""
WORDS = (0, 1, 4, 0xFF, 0x7F, 0xFFFF, 0xFFFFFFFF, 0x7FFFFFFF, 0x80000000, 0x1000, 0x3FFFF)
"""What a damaged number is likely to trip a decoder with."""
TIMES = 12


@cache
def packed(layout: str) -> bytes:
    return lzma.decompress((FOLDER / f"{layout}.xz").read_bytes())


@cache
def chip(layout: str) -> ChipImage:
    return chipimage.decode_chip_image(packed(layout))


def damaged(layout: str, seed: int) -> ChipImage:
    """The chip with one to a dozen damages; checksums of nodes may be made right again."""
    chance = random.Random(f"{layout} {seed}")
    found = chip(layout)
    for _ in range(chance.randint(1, TIMES)):
        found = chance.choice(WAYS)(found, chance)
    return found


def _written(of: ChipImage, chance: random.Random) -> ChipBlock | None:
    held = [b for b in of.blocks if b.cells and any(b.states)]
    return chance.choice(held) if held else None


def _with(of: ChipImage, block: ChipBlock) -> ChipImage:
    return replace(of, blocks=[block if b.index == block.index else b for b in of.blocks])


def _bytes(of: ChipImage, chance: random.Random) -> ChipImage:
    """Overwrites some bytes of data or spare area."""
    block = _written(of, chance)
    if block is None:
        return of
    cells = bytearray(block.cells)
    at = chance.randrange(len(cells))
    new = chance.choice([chance.randbytes(chance.randint(1, 64)), bytes(8), b"\xff" * 16])
    cells[at : at + len(new)] = new[: len(cells) - at]
    return _with(of, replace(block, cells=bytes(cells)))


def _bit(of: ChipImage, chance: random.Random) -> ChipImage:
    block = _written(of, chance)
    if block is None:
        return of
    cells = bytearray(block.cells)
    cells[chance.randrange(len(cells))] ^= 1 << chance.randrange(8)
    return _with(of, replace(block, cells=bytes(cells)))


def _lost(of: ChipImage, chance: random.Random) -> ChipImage:
    """Erases a block, or all from one on: what a dump that was cut off lacks."""
    block = _written(of, chance)
    if block is None:
        return of
    if chance.random() < 0.5:
        return replace(of, blocks=[b for b in of.blocks if b.index < block.index])
    return _with(of, replace(block, cells=b"", states=[]))


def _swapped(of: ChipImage, chance: random.Random) -> ChipImage:
    """Gives a block what another one has."""
    one, other = _written(of, chance), _written(of, chance)
    if one is None or other is None:
        return of
    found = _with(of, replace(one, cells=other.cells))
    return found if chance.random() < 0.5 else _with(found, replace(other, cells=one.cells))


def _marked(of: ChipImage, chance: random.Random) -> ChipImage:
    """A bad block, or a page that cannot be read."""
    block = _written(of, chance)
    if block is None:
        return of
    if chance.random() < 0.5 or not block.states:
        return _with(of, replace(block, flags=block.flags | FACTORY_BAD))
    states = list(block.states)
    states[chance.randrange(len(states))] |= GARBLED_PAGE
    return _with(of, replace(block, states=states))


def _number(of: ChipImage, chance: random.Random) -> ChipImage:
    """Changes a number in a node, and makes the node's checksum right again."""
    block = _written(of, chance)
    if block is None:
        return of
    cells = bytearray(block.cells)
    pages = len(block.states) or 1
    stride = len(cells) // pages
    data, spare = of.geometry.writesize, stride - of.geometry.writesize
    plain = bytearray().join(cells[i * stride : i * stride + data] for i in range(pages))
    nodes = [(at, seal) for mark, seal in SEALS.items() for at in _found(plain, mark)]
    at, seal = chance.choice(nodes) if nodes else (chance.randrange(len(plain)), None)
    to = at + 4 * chance.randrange(24)
    if to + 4 <= len(plain):
        struct.pack_into("<I", plain, to, chance.choice((*WORDS, chance.getrandbits(32))))
    if seal is not None:
        seal(plain, at)
    for i in range(pages):
        cells[i * stride : i * stride + data] = plain[i * data : i * data + data]
    assert spare >= 0
    return _with(of, replace(block, cells=bytes(cells)))


def _found(plain: bytearray, mark: bytes) -> list[int]:
    places: list[int] = []
    at = plain.find(mark)
    while at >= 0 and len(places) < 200:
        places.append(at)
        at = plain.find(mark, at + 4)
    return places


def _seal_jffs2(data: bytearray, at: int) -> None:
    """The checksums of a JFFS2 node: head, node, and what follows it."""
    if at + jffs2nodes.INODE_NODE.size > len(data):
        return
    kind, size = struct.unpack_from("<HI", data, at + 2)
    struct.pack_into("<I", data, at + 8, jffs2nodes.compute_jffs2_crc(bytes(data[at : at + 8])))
    ends = {
        jffs2nodes.INODE: (68, 60, 64),
        jffs2nodes.DIRENT: (40, 36, 32),
        jffs2nodes.XATTR: (32, 24, 28),
    }
    if kind in ends:
        start, of_data, of_node = ends[kind]
        struct.pack_into(
            "<I",
            data,
            at + of_data,
            jffs2nodes.compute_jffs2_crc(bytes(data[at + start : at + size])),
        )
        covered = 60 if kind == jffs2nodes.INODE else of_node
        struct.pack_into(
            "<I", data, at + of_node, jffs2nodes.compute_jffs2_crc(bytes(data[at : at + covered]))
        )


def _seal_ubifs(data: bytearray, at: int) -> None:
    if at + ubifsnodes.HEADER_STRUCT.size <= len(data):
        (size,) = struct.unpack_from("<I", data, at + 16)
        struct.pack_into("<I", data, at + 4, ubi.compute_ubi_crc(bytes(data[at + 8 : at + size])))


def _seal_ubi(data: bytearray, at: int) -> None:
    if at + 64 <= len(data):
        struct.pack_into(">I", data, at + 60, ubi.compute_ubi_crc(bytes(data[at : at + 60])))


SEALS: dict[bytes, Callable[[bytearray, int], None]] = {
    struct.pack("<H", jffs2nodes.MAGIC): _seal_jffs2,
    struct.pack("<I", ubifsnodes.MAGIC): _seal_ubifs,
    b"UBI#": _seal_ubi,
    b"UBI!": _seal_ubi,
}
"""What a node begins with, and what makes its checksums right."""
WAYS = (_bytes, _bit, _bit, _lost, _swapped, _marked, _number, _number, _number)


def file_damaged(layout: str, seed: int) -> bytes:
    """The file of a chip, damaged in the file: its own checksums are made right again or not."""
    chance = random.Random(f"file {layout} {seed}")
    data = bytearray(packed(layout))
    if chance.random() < 0.3:
        return bytes(data[: chance.randrange(len(data))])
    at = chance.randrange(len(data) if chance.random() < 0.5 else 200)
    new = struct.pack("<I", chance.choice(WORDS))
    data[at : at + 4] = new[: len(data) - at]
    if chance.random() < 0.5:
        struct.pack_into("<I", data, 60, zlib.crc32(bytes(data[:60]) + bytes(4)))
    return bytes(data)
