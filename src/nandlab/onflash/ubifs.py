# SPDX-License-Identifier: GPL-2.0-or-later
"""UBIFS: what its index reaches is valid, all other nodes are not.

Source: Linux, fs/ubifs/ubifs-media.h (nodes), and of fs/ubifs key.h (keys), log.c (what a commit
leaves in the log), master.c and super.c (which areas follow each other).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from typing import NamedTuple

from nandlab.base.errors import UsageError
from nandlab.onflash import ubi
from nandlab.onflash.cells import Partition
from nandlab.onflash.index import Branch, Index, IndexEntry, IndexNode
from nandlab.onflash.layout import (
    ByteKind,
    FilePiece,
    Layout,
    LayoutCollector,
    VolumeUse,
    decode_file_name,
    map_numbers_to_paths,
    map_paths_to_numbers,
    refuse_damaged_image,
)

MAGIC = 0x06101831
HEADER_STRUCT = struct.Struct("<IIQIBBxx")
INO, DATA, DENT, XENT, TRUN, PAD, SB, MST, REF, IDX, CS, ORPH, AUTH = range(13)
NAMES = {
    INO: "inode", DATA: "data", DENT: "dent", XENT: "xent", TRUN: "trun", PAD: "pad", SB: "sb",
    MST: "master", REF: "ref", IDX: "index", CS: "commit_start", ORPH: "orphan", AUTH: "auth",
}  # fmt: skip
NODE_BYTES_MIN = {
    INO: 160,
    DATA: 48,
    DENT: 56,
    XENT: 56,
    TRUN: 56,
    PAD: 28,
    SB: 4096,
    MST: 512,
    REF: 64,
    IDX: 28,
    CS: 32,
    ORPH: 32,
    AUTH: 24,
}
SUPERBLOCK_STRUCT = struct.Struct("<24x2xBBIIIIIQIIIIII")
MASTER = struct.Struct("<24xQQIIIII")
FILLED = b"\xce" * 8
LEVELS_MAX = 512
BRANCH_STRUCT = struct.Struct("<IIIII")
"""Of an index node: logical block, offset and length of where it leads, and its key."""
INODE_KEY, DATA_KEY, NAME_KEY, KIND_SHIFT = 0, 1, 2, 29
"""Kinds of keys, and where they are in a key's second word."""
DIRTY, ENCRYPTED, AUTHENTICATED = 1, 0x10, 0x20
ROOT_INODE = 1
BLOCK, KEY_BLOCK = 4096, 0x1FFFFFFF
"""Bytes of a file that a data node has at most; the bits of its key that number them."""
COMPRESSORS = {0: "", 1: "lzo", 2: "zlib", 3: "zstd"}
SIZE_AT, MODE_AT, FLAGS_AT, REGULAR, ATTRIBUTE = 48, 104, 108, 0o10, 0x20
"""Of an inode: where size, mode and flags are; the mode's type of a regular file; the flag of an
attribute's value."""
PART_NAMES = {DATA: "data", IDX: "index", DENT: "names", XENT: "extended attributes", INO: "inodes"}


class UbifsNode(NamedTuple):
    at: int
    bytes: int
    kind: int


@dataclass(frozen=True)
class UbifsAreas:
    """Where the areas begin, in logical blocks."""

    log: int
    lpt: int
    orphans: int
    main: int
    end: int
    unit: int
    """Least bytes of a write."""
    flags: int

    def part(self, logical: int) -> str:
        """The name of the area that a logical block before the main area is in."""
        for first, name in (
            (self.orphans, "orphans"),
            (self.lpt, "LEB properties"),
            (self.log, "log"),
            (1, "master"),
        ):
            if logical >= first:
                return name
        return "superblock"


def decode_ubifs(partition: Partition, volume: str | None = None) -> Layout:
    """Where everything is; UsageError says what is wrong with the image.

    volume: name or number of the UBI volume with the file system; None: the one that has UBIFS. Of
    a partition without UBIFS, what its volumes hold.
    """
    return _decode_partition(partition, volume, mounted=False)


def decode_mounted_ubifs(partition: Partition, volume: str | None = None) -> Layout:
    """The same of a chip whose file system may be mounted: what it wrote last is committed, so that
    the index in memory is the one on flash. UsageError if it is not."""
    return _decode_partition(partition, volume, mounted=True)


def _decode_partition(on: Partition, word: str | None, *, mounted: bool) -> Layout:
    walk = LayoutCollector()
    attached = ubi.attach_ubi(on, walk)
    chosen = _choose_volume(on, attached, word)
    for volume in attached.volumes.values():
        if volume is not chosen:
            ubi.account_volume_content(on, attached, volume, walk)
    uses = tuple(
        VolumeUse(v.number, v.name, v.static, v.reserved, len(v.blocks))
        for v in attached.volumes.values()
    )
    if chosen is not None:
        layout = _VolumeScan(on, attached, chosen.blocks, walk, mounted=mounted).run()
        return replace(layout, volumes=uses)
    extents = walk.done(on.bytes)
    return Layout(
        "ubi", on.bytes, on.erasesize, on.writesize, extents, {}, {}, [], {}, volumes=uses
    )


def _choose_volume(on: Partition, attached: ubi.Attached, word: str | None) -> ubi.UbiVolume | None:
    """The volume whose UBIFS is read; None: no volume has one. UsageError if it is not clear."""
    having = [v for v in attached.volumes.values() if _has_ubifs(on, attached, v)]
    if word is not None:
        volume = attached.named(word)
        if volume not in having:
            raise UsageError(f"UBI volume {volume.name} has no UBIFS: its first bytes are no node")
        return volume
    if len(having) > 1:
        names = ", ".join(v.name for v in having)
        raise UsageError(f"{len(having)} UBI volumes have UBIFS ({names}): give --volume")
    return having[0] if having else None


def _has_ubifs(on: Partition, attached: ubi.Attached, volume: ubi.UbiVolume) -> bool:
    block = volume.blocks.get(0)
    if block is None:
        return False
    at = block * on.erasesize + attached.data_offset
    return on.bytes_at(at, 4) == MAGIC.to_bytes(4, "little")


def join_key_words(raw: tuple[int, int]) -> int:
    """A key's two words as a number that orders as they do: inode, then kind and place."""
    return raw[0] << 32 | raw[1]


def make_leaf_node_key(owner: int, kind: int, place: int = 0) -> int:
    """The key of an inode's node, or of a block of its data."""
    return join_key_words((owner, kind << KIND_SHIFT | place))


def _count_fill_bytes(leb: bytes, at: int) -> int:
    """Bytes of padding there that are too few for a padding node: a multiple of 8."""
    to = at
    while to - at < NODE_BYTES_MIN[PAD] and leb[to : to + 8] == FILLED:
        to += 8
    return to - at


class _VolumeScan:
    def __init__(
        self,
        on: Partition,
        attached: ubi.Attached,
        blocks: dict[int, int],
        walk: LayoutCollector,
        *,
        mounted: bool,
    ) -> None:
        self.on, self.attached, self.blocks, self.walk = on, attached, blocks, walk
        self.mounted = mounted
        self.counts = dict.fromkeys(NAMES.values(), 0)
        self.names: list[tuple[int, int, str]] = []
        self.index: dict[int, IndexNode] = {}
        self.entries: dict[int, IndexEntry] = {}

    def run(self) -> Layout:
        areas = self._areas()
        root = self._master(areas)
        self._log(areas)
        reached = self._reached(root, areas)
        for logical in sorted(self.blocks):
            at = self._place(logical)
            if logical < areas.main:
                self.walk.add(at, self.attached.leb_bytes, ByteKind.METADATA, areas.part(logical))
            elif logical >= areas.end:
                raise UsageError(
                    f"UBIFS has {areas.end} logical blocks, and block {logical} is mapped"
                )
            else:
                self._main(logical, reached, areas)
        if reached:
            raise UsageError(f"UBIFS: the index leads to {len(reached)} places where no node is")
        on = self.on
        top = self._place(root[0]) + root[1]
        named = map_numbers_to_paths(self.names, ROOT_INODE)
        index = Index(top, self.index, self.entries, self.attached.leb_bytes)
        return Layout(
            "ubifs", on.bytes, on.erasesize, on.writesize, self.walk.done(on.bytes),
            named, self.walk.sizes, self.walk.pieces, self.counts,
            bytes_at=on.bytes_at, index=index, unpack_room=BLOCK,
            names=map_paths_to_numbers(self.names, named),
        )  # fmt: skip

    def _place(self, logical: int) -> int:
        return self.blocks[logical] * self.on.erasesize + self.attached.data_offset

    def _leb(self, logical: int) -> bytes:
        """A logical block's bytes; one that is not mapped is erased."""
        block = self.blocks.get(logical)
        if block is None:
            return b""
        return self.on.data(block)[self.attached.data_offset :]

    def _node(self, leb: bytes, logical: int, at: int) -> UbifsNode:
        """The node there, with its checksum checked."""
        block = self.blocks.get(logical, -1)
        if at < 0 or at & 7 or at + HEADER_STRUCT.size > len(leb):
            refuse_damaged_image(f"no UBIFS node (logical block {logical})", block, at)
        magic, crc, _, size, kind, _ = HEADER_STRUCT.unpack_from(leb, at)
        if magic != MAGIC or kind not in NAMES:
            refuse_damaged_image(
                f"no UBIFS node where one should be (logical block {logical})", block, at
            )
        if not NODE_BYTES_MIN[kind] <= size <= len(leb) - at:
            refuse_damaged_image(
                f"a UBIFS node of impossible length (logical block {logical})", block, at
            )
        if ubi.compute_ubi_crc(leb[at + 8 : at + size]) != crc:
            refuse_damaged_image(
                f"a UBIFS node has a wrong checksum (logical block {logical})", block, at
            )
        return UbifsNode(at, size, kind)

    def _areas(self) -> UbifsAreas:
        leb = self._leb(0)
        if self._node(leb, 0, 0).kind != SB:
            refuse_damaged_image("no UBIFS superblock", self.blocks.get(0, -1), 0)
        _, key_format, flags, unit, leb_bytes, count, _, _, log, lpt, orphans, *_ = (
            SUPERBLOCK_STRUCT.unpack_from(leb)
        )
        if leb_bytes != self.attached.leb_bytes or key_format or not unit or unit % 8:
            raise UsageError("UBIFS: its superblock is of a chip of another geometry")
        if unit != self.on.writesize:
            raise UsageError(
                f"UBIFS: its superblock tells of pages of {unit} bytes, not {self.on.writesize}"
            )
        if flags & ENCRYPTED:
            raise UsageError("UBIFS: encrypted: its names and files cannot be read without the key")
        if flags & AUTHENTICATED:
            raise UsageError("UBIFS: authenticated: an index with hashes is not read")
        lpt_at = 3 + log
        return UbifsAreas(3, lpt_at, lpt_at + lpt, lpt_at + lpt + orphans, count, unit, flags)

    def _last(self, logical: int, unit: int) -> bytes | None:
        """The newest master node in a logical block."""
        leb, at, newest = self._leb(logical), 0, None
        step = -(-NODE_BYTES_MIN[MST] // unit) * unit
        while at < len(leb) and leb[at : at + 4] != b"\xff" * 4:
            node = self._node(leb, logical, at)
            if node.kind == MST:
                newest = leb[at : at + node.bytes]
                at += step
            elif node.kind == PAD:
                (padded,) = struct.unpack_from("<I", leb, at + HEADER_STRUCT.size)
                at += node.bytes + padded
            else:
                refuse_damaged_image(
                    "no UBIFS master node where one should be", self.blocks[logical], at
                )
        return newest

    def _master(self, areas: UbifsAreas) -> tuple[int, int, int]:
        """Place of the index's root; refuses what was not unmounted."""
        found = [m for m in (self._last(1, areas.unit), self._last(2, areas.unit)) if m]
        if len(found) != 2 or found[0][24:] != found[1][24:]:
            raise UsageError("UBIFS: its two master nodes differ: it was cut off, or is damaged")
        _, self.commit, flags, self.log_at, lnum, offset, size = MASTER.unpack_from(found[0])
        if flags & DIRTY and not self.mounted:
            raise UsageError(
                "UBIFS was not unmounted: its journal must be replayed first; mount and unmount it"
            )
        return lnum, offset, size

    def _log(self, areas: UbifsAreas) -> None:
        """Refuses a journal that is not empty: nodes past where the last commit left its heads."""
        leb, at = self._leb(self.log_at), 0
        while at < len(leb) and leb[at : at + 4] != b"\xff" * 4:
            node = self._node(leb, self.log_at, at)
            if node.kind == REF:
                logical, offset = struct.unpack_from("<II", leb, at + HEADER_STRUCT.size)
                if self._leb(logical)[offset:].strip(b"\xff"):
                    raise UsageError(
                        f"UBIFS: its journal is not empty (logical block {logical}); "
                        "sync it, or mount and unmount it"
                    )
            elif node.kind not in (CS, PAD):
                refuse_damaged_image(
                    "a node in the log that does not belong there", self.blocks[self.log_at], at
                )
            padded = (
                struct.unpack_from("<I", leb, at + HEADER_STRUCT.size)[0] if node.kind == PAD else 0
            )
            at += -(-(node.bytes + padded) // 8) * 8

    def _reached(self, root: tuple[int, int, int], areas: UbifsAreas) -> dict[tuple[int, int], int]:
        """(Logical block, offset) -> length of every node that the index reaches, its own too."""
        reached: dict[tuple[int, int], int] = {}
        waiting = [(*root, LEVELS_MAX)]
        held, leb = -1, b""
        while waiting:
            logical, offset, size, above = waiting.pop()
            if not areas.main <= logical < areas.end or (logical, offset) in reached:
                raise UsageError(
                    "UBIFS: its index is damaged: a node is out of the main area, or twice in it"
                )
            reached[logical, offset] = size
            if above == 0:
                continue
            if logical != held:
                held, leb = logical, self._leb(logical)
            node = self._node(leb, logical, offset)
            children, level = struct.unpack_from("<HH", leb, offset + HEADER_STRUCT.size)
            if (
                node.kind != IDX
                or node.bytes != size
                or level >= above
                or HEADER_STRUCT.size + 4 + 20 * children > size
            ):
                refuse_damaged_image(
                    "a UBIFS index node that is damaged", self.blocks[logical], offset
                )
            branches = [
                BRANCH_STRUCT.unpack_from(
                    leb, offset + NODE_BYTES_MIN[IDX] + BRANCH_STRUCT.size * i
                )
                for i in range(children)
            ]
            waiting += [(*branch[:3], level) for branch in branches]
            self._indexed(logical, offset, size, level, branches)
        return reached

    def _indexed(
        self, logical: int, offset: int, size: int, level: int, raw: list[tuple[int, ...]]
    ) -> None:
        """Keeps a node of the index. What leads to a block that is not mapped is refused later."""
        at = self._place(logical) + offset
        branches = tuple(
            Branch(join_key_words((low, high)), self._place(to) + there, count)
            for to, there, count, low, high in raw
            if to in self.blocks
        )
        self.index[at] = IndexNode(at, size, level, branches)

    def _main(self, logical: int, reached: dict[tuple[int, int], int], areas: UbifsAreas) -> None:
        """Accounts for a logical block of the main area."""
        leb, base, at = self._leb(logical), self._place(logical), 0
        end = len(leb.rstrip(b"\xff"))
        while at < end:
            filled = _count_fill_bytes(leb, at)
            if filled:
                self.walk.add(base + at, filled, ByteKind.SLACK, "padding")
                at += filled
                continue
            node = self._node(leb, logical, at)
            self.counts[NAMES[node.kind]] += 1
            aligned = min(-(-node.bytes // 8) * 8, len(leb) - at)
            if node.kind == PAD:
                (padded,) = struct.unpack_from("<I", leb, at + HEADER_STRUCT.size)
                if at + node.bytes + padded > len(leb):
                    refuse_damaged_image(
                        "a padding node of impossible length", self.blocks[logical], at
                    )
                self.walk.add(base + at, node.bytes + padded, ByteKind.SLACK, "padding")
                at += node.bytes + padded
                continue
            size = reached.pop((logical, at), None)
            if size is None:
                part = PART_NAMES.get(node.kind, "journal")
                self.walk.add(base + at, aligned, ByteKind.OBSOLETE, part)
            elif size != node.bytes:
                refuse_damaged_image(
                    "a UBIFS node is not as long as the index has it", self.blocks[logical], at
                )
            else:
                self._live(leb, base, node)
                self.walk.add(
                    base + at + node.bytes, aligned - node.bytes, ByteKind.SLACK, "8-byte alignment"
                )
            at += aligned
        unit = areas.unit
        page = min(-(-at // unit) * unit, len(leb))
        self.walk.add(base + at, page - at, ByteKind.SLACK, "padding")
        self.walk.add(base + page, len(leb) - page, ByteKind.FREE, "unwritten")

    def _live(self, leb: bytes, base: int, node: UbifsNode) -> None:
        at = node.at
        (owner,) = struct.unpack_from("<I", leb, at + HEADER_STRUCT.size)
        if node.kind == DATA:
            self._data(leb, base, node, owner)
        elif node.kind in (DENT, XENT):
            number, length = struct.unpack_from("<Q2xH", leb, at + 40)
            if node.kind == DENT:
                self.names.append(
                    (owner, number, decode_file_name(leb[at + 56 : at + 56 + length]))
                )
                raw = struct.unpack_from("<II", leb, at + HEADER_STRUCT.size)
                self.entries[base + at] = IndexEntry(join_key_words(raw), base + at, owner, number)
            who = number if node.kind == DENT else owner
            self.walk.add(base + at, node.bytes, ByteKind.METADATA, PART_NAMES[node.kind], who)
        elif node.kind == INO:
            self._inode(leb, base, node, owner)
        elif node.kind == IDX:
            self.walk.add(base + at, node.bytes, ByteKind.METADATA, PART_NAMES[IDX])
        else:
            refuse_damaged_image(
                f"a {NAMES[node.kind]} node in the index", base // self.on.erasesize, at
            )

    def _data(self, leb: bytes, base: int, node: UbifsNode, owner: int) -> None:
        """A data node that holds: a block of a file, compressed or not."""
        block, size, packer = struct.unpack_from("<I8xIH", leb, node.at + HEADER_STRUCT.size + 4)
        start, stored = base + node.at + 48, node.bytes - 48
        if not 0 < size <= BLOCK or (packer == 0 and stored != size):
            refuse_damaged_image(
                "a data node of impossible size", base // self.on.erasesize, node.at
            )
        self.walk.add(base + node.at, 48, ByteKind.METADATA, "data headers", owner)
        self.walk.add(start, stored, ByteKind.USER, "data", owner)
        packing = COMPRESSORS.get(packer, f"compressor {packer}")
        offset = (block & KEY_BLOCK) * BLOCK
        self.walk.pieces.append(FilePiece(owner, offset, size, start, stored, 0, packing, size))

    def _inode(self, leb: bytes, base: int, node: UbifsNode, owner: int) -> None:
        """An inode that holds; an attribute's value is an inode too."""
        if leb[node.at + FLAGS_AT] & ATTRIBUTE:
            self.walk.add(base + node.at, node.bytes, ByteKind.METADATA, PART_NAMES[XENT])
            return
        self.walk.add(base + node.at, node.bytes, ByteKind.METADATA, PART_NAMES[INO], owner)
        if leb[node.at + MODE_AT + 1] >> 4 == REGULAR:
            (self.walk.sizes[owner],) = struct.unpack_from("<Q", leb, node.at + SIZE_AT)
