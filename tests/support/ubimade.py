# SPDX-License-Identifier: GPL-2.0-or-later
"""UBI devices for tests: the sample chip's, changed block by block, with checksums made right."""

from __future__ import annotations

import struct

from nandlab.flash.layouts import ubi, ubifsnodes
from nandlab.flash.layouts.cells import Partition
from nandlab.flash.layouts.shape import Shape
from support.flashsamples import BLOCKS, chip

SAMPLE = Partition(chip("ubifs"), BLOCKS["ubifs"])
SHAPE = Shape(SAMPLE.writesize, SAMPLE.erasesize)
BLANK = b"\xff" * SAMPLE.erasesize
MIB = SAMPLE.bytes / (1 << 20)


class Device:
    """The sample's blocks, of which some are written anew."""

    def __init__(self) -> None:
        self.blocks = [BLANK if SAMPLE.erased(i) else SAMPLE.data(i) for i in range(SAMPLE.blocks)]
        counter = next(b for b in self.blocks if b.startswith(b"UBI#"))
        self.counter = counter[: ubi.EC_HEADER.size]
        self.vid_at, self.data_at = next(
            place
            for b in self.blocks
            if (place := ubi._find_offsets(b[: ubi.EC_HEADER.size], len(b)))
        )
        self.sequence = 1 << 40

    @property
    def leb_bytes(self) -> int:
        return SAMPLE.erasesize - self.data_at

    def dump(self) -> bytes:
        return b"".join(self.blocks)

    def counter_only(self) -> bytes:
        """A block with nothing but its counter of erasures."""
        return self.counter.ljust(SAMPLE.erasesize, b"\xff")

    def header(self, block: int) -> ubi.VolumeHeader | None:
        """A block's volume header."""
        return ubi._parse_header(
            self.blocks[block][self.vid_at : self.vid_at + ubi.VID_HEADER.size]
        )

    def held(self, volume: int, logical: int) -> int:
        """The block that has a logical block."""
        headers = enumerate(map(self.header, range(len(self.blocks))))
        copies = [(h.sequence, i) for i, h in headers if h and h[:2] == (volume, logical)]
        return max(copies)[1]

    def free(self) -> list[int]:
        """Blocks that no volume has."""
        return [i for i, b in enumerate(self.blocks) if b == BLANK or self._is_headed_only(b)]

    def _is_headed_only(self, block: bytes) -> bool:
        return block.startswith(b"UBI#") and not block[self.vid_at :].strip(b"\xff")

    def write(self, block: int, header: bytes, content: bytes) -> None:
        """A block with a counter of erasures, this volume header and these bytes."""
        begin = self.counter.ljust(self.vid_at, b"\xff") + header
        whole = begin.ljust(self.data_at, b"\xff") + content
        self.blocks[block] = whole.ljust(SAMPLE.erasesize, b"\xff")

    def named(
        self,
        volume: int,
        logical: int,
        content: bytes = b"",
        *,
        static: bool = False,
        copied: bool = False,
        compatible: int = 0,
        checksum: int | None = None,
        used: int = 0,
    ) -> bytes:
        """A volume header for these bytes, newer than all others; used: blocks of a static one."""
        self.sequence += 1
        kind = ubi.STATIC_VOLUME if static else 1
        sized = len(content) if static or copied else 0
        crc = ubi.compute_ubi_crc(content) if static or copied else 0
        crc = crc if checksum is None else checksum
        fields = (kind, copied, compatible, volume, logical, sized, used, 0, crc, self.sequence)
        raw = ubi.VID_HEADER.pack(b"UBI!", 1, *fields, 0)[:-4]
        return raw + struct.pack(">I", ubi.compute_ubi_crc(raw))

    def put(self, volume: int, contents: list[bytes], *, static: bool = False) -> None:
        """Writes a volume's logical blocks into free blocks."""
        for logical, content in enumerate(contents):
            used = len(contents) if static else 0
            header = self.named(volume, logical, content, static=static, used=used)
            self.write(self.free()[-1], header, content)

    def list(self, number: int, name: str, reserved: int, *, static: bool = False) -> None:
        """A record of both copies of the volume table."""
        kind = ubi.STATIC_VOLUME if static else 1
        fields = (reserved, 1, 0, kind, 0, len(name), name.encode(), 0)
        raw = ubi.VOLUME_RECORD.pack(*fields).ljust(ubi.RECORD_BYTES - 4, b"\0")
        record = raw + struct.pack(">I", ubi.compute_ubi_crc(raw))
        for logical in (0, 1):
            block = self.held(ubi.LAYOUT_VOLUME, logical)
            at = self.data_at + number * ubi.RECORD_BYTES
            whole = self.blocks[block]
            self.blocks[block] = whole[:at] + record + whole[at + len(record) :]

    def copy(self, block: int, *, whole: bool) -> int:
        """Copies a block as UBI does that moves it, whole or cut off; the copy's number."""
        header = self.header(block)
        assert header is not None
        content = self.blocks[block][self.data_at :].rstrip(b"\xff")
        named = self.named(header.volume, header.logical, content, copied=True)
        to = self.free()[-1]
        self.write(to, named, content if whole else content[: len(content) // 2])
        return to

    def flag(self, flags: int) -> None:
        """Sets flags of the superblock."""
        block = self.held(0, 0)
        data = bytearray(self.blocks[block])
        at = self.data_at
        _, _, held, *_ = ubifsnodes.SUPERBLOCK_STRUCT.unpack_from(data, at)
        place = at + 28
        assert struct.unpack_from("<I", data, place)[0] == held
        struct.pack_into("<I", data, place, held | flags)
        size = ubifsnodes.NODE_BYTES_MIN[ubifsnodes.SB]
        struct.pack_into("<I", data, at + 4, ubi.compute_ubi_crc(bytes(data[at + 8 : at + size])))
        self.blocks[block] = bytes(data)
