# SPDX-License-Identifier: GPL-2.0-or-later
"""UBIFS's nodes and keys, and what the nodes of a journal make of the index.

Source: Linux, fs/ubifs/ubifs-media.h (nodes), key.h (keys), replay.c and recovery.c (which nodes of
the journal hold, in which order).
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from nandlab.base.errors import UsageError
from nandlab.flash.layouts.cells import is_erased
from nandlab.flash.layouts.layout import refuse_damaged_image

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
INODE_KEY, DATA_KEY, NAME_KEY, ATTRIBUTE_KEY, KIND_SHIFT = 0, 1, 2, 3, 29
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


def join_key_words(raw: tuple[int, int]) -> int:
    """A key's two words as a number that orders as they do: inode, then kind and place."""
    return raw[0] << 32 | raw[1]


def make_leaf_node_key(owner: int, kind: int, place: int = 0) -> int:
    """The key of an inode's node, or of a block of its data."""
    return join_key_words((owner, kind << KIND_SHIFT | place))


NLINK_AT, TRUNCATION_AT, NAME_AT, NAME_LENGTH_AT, NUMBER_AT = 92, 40, 56, 50, 40
"""Of an inode: its count of links; of a truncation: sizes before and after; of a name: its begin,
its length, and the inode that it leads to, 0 if the name is deleted."""
IN_GROUP = 1
"""Group of a node that more of its group follow: they hold together or not at all."""
RAW_BYTES = 512
"""Of a node, as many as its fields and a name take."""
CUT_BYTES_MAX = 1 << 13
"""Bytes that may be on their way to the flash when the power goes: a node and a buffer at most."""
COLLECTOR_HEAD = 0
"""The journal's head of the garbage collector: it moves nodes one by one, out of their groups."""
Place = tuple[int, int]
"""Logical block and offset of a node."""


class Bud(NamedTuple):
    """Where a head of the journal has written."""

    logical: int
    offset: int
    head: int


class JournalNode(NamedTuple):
    """A node of the journal."""

    sequence: int
    kind: int
    place: Place
    size: int
    raw: bytes
    """Its begin, a name whole."""


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


@dataclass
class JournalReplay:
    """What the index leads to once the journal's nodes are applied to it, in their order."""

    read: Callable[[int, int, int], bytes]
    """So many bytes of a logical block from an offset on."""
    leaves: dict[int, dict[int, list[tuple[Place, int]]]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    """Inode -> second word of a key -> places and lengths of nodes; several where hashes of names
    are the same."""
    data_ends: dict[int, int] = field(default_factory=dict)
    """Inode -> end of the data that the journal wrote past its size."""

    def index(self, key: tuple[int, int], place: Place, size: int) -> None:
        """A leaf of the index on flash."""
        self.leaves[key[0]].setdefault(key[1], []).append((place, size))

    def apply(self, nodes: list[JournalNode]) -> None:
        """Applies nodes, the oldest first.

        A file whose last inode in the journal has links stays, though an older one has none: it was
        made without a name, and got one.
        """
        ordered = sorted(nodes)
        last = {_read_owner(node): node for node in ordered if node.kind == INO}
        for node in ordered:
            owner, low = struct.unpack_from("<II", node.raw, HEADER_STRUCT.size)
            if node.kind == TRUN:
                self._truncate(owner, *struct.unpack_from("<QQ", node.raw, TRUNCATION_AT))
            elif node.kind in (DENT, XENT):
                self._name(node, owner, low)
            elif node.kind == INO and not _has_links(node):
                self.data_ends.pop(owner, None)
                if not _has_links(last[owner]):
                    self._delete(owner)
            else:
                self.leaves[owner][low] = [(node.place, node.size)]
            if node.kind == DATA:
                (count,) = struct.unpack_from("<I", node.raw, 40)
                end = (low & KEY_BLOCK) * BLOCK + count
                self.data_ends[owner] = max(end, self.data_ends.get(owner, 0))

    def drop_orphans(self) -> None:
        """Deletes what the index has of files that no name leads to any more."""
        for owner, own in [*self.leaves.items()]:
            for (logical, offset), _ in own.get(INODE_KEY << KIND_SHIFT, []):
                links = self.read(logical, offset + NLINK_AT, 4)
                if links == bytes(4):
                    self._delete(owner)

    def list_reached(self) -> dict[Place, int]:
        """Place -> length of each node that the index leads to."""
        held = (leaf for own in self.leaves.values() for leaves in own.values() for leaf in leaves)
        return dict(held)

    def _delete(self, owner: int) -> None:
        """Deletes a file with its attributes, whose values are inodes of their own."""
        own = self.leaves.pop(owner, {})
        self.data_ends.pop(owner, None)
        attributes = [own[low] for low in own if low >> KIND_SHIFT == ATTRIBUTE_KEY]
        for (logical, offset), _ in (leaf for leaves in attributes for leaf in leaves):
            (value,) = struct.unpack("<I", self.read(logical, offset + NUMBER_AT, 4))
            self.leaves.pop(value, None)

    def _truncate(self, owner: int, before: int, after: int) -> None:
        first = DATA_KEY << KIND_SHIFT | min(-(-after // BLOCK), KEY_BLOCK)
        last = DATA_KEY << KIND_SHIFT | min(-(-before // BLOCK), KEY_BLOCK)
        own = self.leaves.get(owner, {})
        for low in [low for low in own if first <= low < last]:
            del own[low]
        self.data_ends[owner] = after

    def _name(self, node: JournalNode, owner: int, low: int) -> None:
        """A name takes the place of the same one; of others with its hash it does not."""
        name = _read_name(node.raw)
        same_hash = self.leaves[owner].get(low, [])
        leaves = [leaf for leaf in same_hash if self._read_name(*leaf) != name]
        (number,) = struct.unpack_from("<Q", node.raw, NUMBER_AT)
        if number:
            leaves.append((node.place, node.size))
        if leaves:
            self.leaves[owner][low] = leaves
        else:
            self.leaves[owner].pop(low, None)

    def _read_name(self, place: Place, size: int) -> bytes:
        return _read_name(self.read(place[0], place[1], size))


def _read_owner(node: JournalNode) -> int:
    (owner,) = struct.unpack_from("<I", node.raw, HEADER_STRUCT.size)
    return int(owner)


def _has_links(inode: JournalNode) -> bool:
    return any(inode.raw[NLINK_AT : NLINK_AT + 4])


def _read_name(raw: bytes) -> bytes:
    (length,) = struct.unpack_from("<H", raw, NAME_LENGTH_AT)
    return raw[NAME_AT : NAME_AT + length]


def count_fill_bytes(leb: bytes, offset: int) -> int:
    """Bytes of padding there that are too few for a padding node: a multiple of 8."""
    to = offset
    while to - offset < NODE_BYTES_MIN[PAD] and leb[to : to + 8] == FILLED:
        to += 8
    return to - offset


@dataclass
class JournalScan:
    """Finds what the journal's heads have written since the last commit."""

    areas: UbifsAreas
    leb: Callable[[int], bytes]
    """A logical block; empty: it is not mapped."""
    node: Callable[[bytes, int, int], UbifsNode]
    """The node of a logical block with this number at a byte, its checksum checked."""
    blocks: dict[int, int]
    """Logical block -> physical block."""
    mounted: bool
    dirty: bool
    """Whether the file system was not unmounted, as its master has it."""

    def list_buds(self, log_at: int) -> list[Bud]:
        """Where the journal's heads have written since the last commit; UsageError if they have,
        and what is there may not be replayed."""
        if not self.areas.log <= log_at < self.areas.lpt:
            raise UsageError(f"UBIFS: its master leads to logical block {log_at}, which is no log")
        buds: dict[int, Bud] = {}
        newest, logical = -1, log_at
        while True:
            leb = self.leb(logical)
            if not leb or leb[:4] == b"\xff" * 4:
                break
            (first,) = struct.unpack_from("<Q", leb, 8)
            if first < newest:
                break  # of an older commit: the log is a ring
            newest = first
            for bud in self._list_block_buds(leb, logical):
                first_bud = buds.setdefault(bud.logical, bud)
                if first_bud.head != bud.head or first_bud.offset > bud.offset:
                    refuse_damaged_image(
                        f"a log that gives logical block {bud.logical} to two heads",
                        self.blocks.get(logical, -1),
                        0,
                    )
            logical = logical + 1 if logical + 1 < self.areas.lpt else self.areas.log
            if logical == log_at:
                break
        written = [b for b in buds.values() if not is_erased(self.leb(b.logical)[b.offset :])]
        if written and (self.mounted or not self.dirty):
            raise UsageError(
                f"UBIFS: its journal is not empty (logical block {written[0].logical}); sync it, "
                "mount and unmount it, or make an image of the dump with nandlab image import"
            )
        return written

    def _list_block_buds(self, leb: bytes, logical: int) -> Iterator[Bud]:
        offset = 0
        while offset < len(leb) and leb[offset : offset + 4] != b"\xff" * 4:
            try:
                node = self.node(leb, logical, offset)
            except UsageError:
                if not self.dirty or not offset or leb[offset + self.areas.unit :].strip(b"\xff"):
                    raise
                return  # the power went as it was written
            if node.kind == REF:
                yield Bud(*struct.unpack_from("<III", leb, offset + HEADER_STRUCT.size))
            elif node.kind not in (CS, PAD):
                refuse_damaged_image(
                    "a node in the log that does not belong there",
                    self.blocks.get(logical, -1),
                    offset,
                )
            padded = (
                struct.unpack_from("<I", leb, offset + HEADER_STRUCT.size)[0]
                if node.kind == PAD
                else 0
            )
            offset += -(-(node.bytes + padded) // 8) * 8

    def list_nodes(self, bud: Bud) -> Iterator[JournalNode]:
        """The nodes of a journal's head. A group that was not written whole is left out, as is
        what the power cut off."""
        logical, offset, head = bud
        if not self.areas.main <= logical < self.areas.end:
            refuse_damaged_image("a log that leads out of the main area", 0, offset)
        group: list[JournalNode] = []
        leb = self.leb(logical)
        end = len(leb.rstrip(b"\xff"))
        while offset < end:
            filled = count_fill_bytes(leb, offset)
            if filled:
                offset += filled
                continue
            node = self.read_node_before_cut(leb, logical, offset)
            if node is None:
                return
            if node.kind == PAD:
                (padded,) = struct.unpack_from("<I", leb, offset + HEADER_STRUCT.size)
                offset += node.bytes + padded
                continue
            _, _, sequence, _, _, grouped = HEADER_STRUCT.unpack_from(leb, offset)
            if node.kind in (INO, DATA, DENT, XENT, TRUN):
                raw = leb[offset : offset + min(node.bytes, RAW_BYTES)]
                group.append(JournalNode(sequence, node.kind, (logical, offset), node.bytes, raw))
            if grouped != IN_GROUP or head == COLLECTOR_HEAD:
                yield from group
                group = []
            offset += -(-node.bytes // 8) * 8

    def read_node_before_cut(self, leb: bytes, logical: int, offset: int) -> UbifsNode | None:
        """The node there; None: the power went as it was written, and nothing follows it."""
        try:
            return self.node(leb, logical, offset)
        except UsageError:
            unit = self.areas.unit
            written = -(-(offset + CUT_BYTES_MAX) // unit) * unit
            if not self.dirty or leb[written:].strip(b"\xff"):
                raise
            return None
