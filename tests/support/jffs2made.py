# SPDX-License-Identifier: GPL-2.0-or-later
"""A JFFS2 made by hand on a chip of any geometry, and the dumps that nanddump would make of it."""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass, field

from nandlab.flash.layouts import jffs2nodes
from nandlab.flash.layouts.shape import Shape

REGULAR = 0o100644


@dataclass
class Made:
    """Nodes one after the other from block 0 on, as the kernel writes them."""

    shape: Shape
    blocks: int
    order: str = "<"
    data: bytearray = field(default_factory=bytearray)
    files: dict[int, bytearray] = field(default_factory=dict)
    versions: dict[int, int] = field(default_factory=dict)

    def _node(self, kind: int, body: bytes, sums: int, data: bytes) -> None:
        """sums: 1: the node's checksum comes before that of the data; else after it."""
        size = 12 + len(body) + 8 + len(data)
        left = -len(self.data) % self.shape.erase_block
        if left and left < size + 3 & ~3:
            self.data += b"\xff" * left
        head = struct.pack(self.order + "HHI", jffs2nodes.MAGIC, kind, size)
        head += struct.pack(self.order + "I", jffs2nodes.compute_jffs2_crc(head))
        own = (jffs2nodes.compute_jffs2_crc(data), jffs2nodes.compute_jffs2_crc(head + body))
        self.data += head + body + struct.pack(self.order + "II", *own[:: -1 if sums else 1])
        self.data += data + b"\xff" * (-size % 4)
        assert len(self.data) <= self.blocks * self.shape.erase_block

    def name(self, number: int, name: bytes) -> None:
        body = struct.pack(self.order + "IIIIBBH", 1, number, number, 0, len(name), 8, 0)
        self._node(jffs2nodes.DIRENT, body, 1, name)
        self.files[number] = bytearray()

    def write(self, number: int, offset: int, data: bytes) -> None:
        """A node of at most a page of a file."""
        held = self.files[number]
        held[offset : offset + len(data)] = data
        self.versions[number] = self.versions.get(number, 0) + 1
        body = struct.pack(
            self.order + "IIIHHIIIIIIIBBH",
            *(number, self.versions[number], REGULAR, 0, 0, len(held), 0, 0, 0),
            *(offset, len(data), len(data), 0, 0, 0),
        )
        self._node(jffs2nodes.INODE, body, 0, data)

    def sync(self) -> None:
        """Fills the page, as the kernel does when its write buffer is written early."""
        left = -len(self.data) % self.shape.page
        if left > 12:  # of Linux 6.1, __jffs2_flush_wbuf(): 12 are left as zeroes
            head = struct.pack(self.order + "HHI", jffs2nodes.MAGIC, jffs2nodes.PADDING, left)
            self.data += head + struct.pack(self.order + "I", jffs2nodes.compute_jffs2_crc(head))
            self.data += b"\xff" * (left - 12)
        else:
            self.data += bytes(left)

    def dump(self, *, oob: bool = True, mark: int | None = None, ecc: bool = True) -> bytes:
        """What nanddump writes; mark: a further block at this index, marked bad."""
        page, erase_block, spare = self.shape
        whole = bytes(self.data).ljust(self.blocks * erase_block, b"\xff")
        chance, pages = random.Random(1), []
        for at in range(0, len(whole), page):
            own = whole[at : at + page]
            written = own.count(0xFF) != page
            code = chance.randbytes(spare // 2) if written and ecc else b"\xff" * (spare // 2)
            pages.append(own + (b"\xff" * (spare - spare // 2) + code if oob else b""))
        if mark is not None:
            per = erase_block // page
            bad = chance.randbytes(page) + (bytes(spare) if oob else b"")
            pages[mark * per : mark * per] = [bad] * per
        return b"".join(pages)


def made(
    shape: Shape, blocks: int, *, order: str = "<", pieces: int = 4096, seed: int = 1, kib: int = 96
) -> Made:
    """Three files, written in pieces of at most ``pieces`` bytes, a third of them twice."""
    of, chance = Made(shape, blocks, order), random.Random(seed)
    for number in (2, 3, 4):
        of.name(number, b"file%d" % number)
    for number in (2, 3, 4):
        at = 0
        while at < kib * 1024 // 3:
            count = min(chance.randint(pieces // 2 + 1, pieces), 4096 - at % 4096)
            of.write(number, at, chance.randbytes(count))
            if chance.random() < 0.3:
                of.write(number, at, chance.randbytes(count))
            if chance.random() < 0.1:
                of.sync()
            at += count
    of.sync()
    return of
