# SPDX-License-Identifier: GPL-2.0-or-later
"""UBIFS: what its index reaches is valid, all other nodes are not.

Source: Linux, fs/ubifs/ubifs-media.h (nodes), and of fs/ubifs key.h (keys), log.c (what a commit
leaves in the log), master.c and super.c (which areas follow each other).
"""

from __future__ import annotations

import struct
from dataclasses import replace

from nandlab.base.errors import UsageError
from nandlab.flash.layouts import ubi
from nandlab.flash.layouts.cells import Partition
from nandlab.flash.layouts.decoders import Decoder
from nandlab.flash.layouts.index import Branch, Index, IndexEntry, IndexNode
from nandlab.flash.layouts.layout import (
    ByteKind,
    FilePiece,
    Layout,
    LayoutCollector,
    VolumeUse,
    decode_file_name,
    map_numbers_to_paths,
    map_paths_to_numbers,
    refuse_damaged_image,
    refuse_unheld_block,
)
from nandlab.flash.layouts.ubifsnodes import (
    ATTRIBUTE,
    AUTHENTICATED,
    BLOCK,
    BRANCH_STRUCT,
    COMPRESSORS,
    DATA,
    DENT,
    DIRTY,
    ENCRYPTED,
    FLAGS_AT,
    HEADER_STRUCT,
    IDX,
    INO,
    KEY_BLOCK,
    LEVELS_MAX,
    MAGIC,
    MASTER,
    MODE_AT,
    MST,
    NAMES,
    NODE_BYTES_MIN,
    PAD,
    PART_NAMES,
    REGULAR,
    ROOT_INODE,
    SB,
    SIZE_AT,
    SUPERBLOCK_STRUCT,
    XENT,
    Bud,
    JournalReplay,
    JournalScan,
    Place,
    UbifsAreas,
    UbifsNode,
    count_fill_bytes,
    join_key_words,
)


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


def _decode_partition(partition: Partition, word: str | None, *, mounted: bool) -> Layout:
    walk = LayoutCollector()
    attached = ubi.attach_ubi(partition, walk)
    chosen = _choose_volume(partition, attached, word)
    for volume in attached.volumes.values():
        if volume is not chosen:
            ubi.account_volume_content(partition, attached, volume, walk)
    uses = tuple(
        VolumeUse(v.number, v.name, v.static, v.reserved, len(v.blocks))
        for v in attached.volumes.values()
    )
    if chosen is not None:
        layout = _VolumeScan(partition, attached, chosen.blocks, walk, mounted=mounted).run()
        return replace(layout, volumes=uses)
    extents = walk.finish(partition.bytes)
    return Layout(
        "ubi", partition.bytes, partition.erasesize, partition.writesize, extents, {}, {}, [], {},
        volumes=uses,
    )  # fmt: skip


def _choose_volume(
    partition: Partition, attached: ubi.Attached, word: str | None
) -> ubi.UbiVolume | None:
    """The volume whose UBIFS is read; None: no volume has one. UsageError if it is not clear."""
    having = [v for v in attached.volumes.values() if _has_ubifs(partition, attached, v)]
    if word is not None:
        volume = attached.find_volume(word)
        if volume not in having:
            raise UsageError(f"UBI volume {volume.name} has no UBIFS: its first bytes are no node")
        return volume
    if len(having) > 1:
        names = ", ".join(v.name for v in having)
        raise UsageError(f"{len(having)} UBI volumes have UBIFS ({names}): give --volume")
    return having[0] if having else None


def _has_ubifs(partition: Partition, attached: ubi.Attached, volume: ubi.UbiVolume) -> bool:
    block = volume.blocks.get(0)
    if block is None:
        return False
    offset = block * partition.erasesize + attached.data_offset
    return partition.read_data(offset, 4) == MAGIC.to_bytes(4, "little")


class _VolumeScan:
    def __init__(
        self,
        partition: Partition,
        attached: ubi.Attached,
        blocks: dict[int, int],
        walk: LayoutCollector,
        *,
        mounted: bool,
    ) -> None:
        self.partition, self.attached, self.blocks, self.walk = partition, attached, blocks, walk
        self.mounted = mounted
        self.replay = JournalReplay(self._read)
        self.leaf_places: set[Place] = set()
        self.dirty = False
        self.counts = dict.fromkeys(NAMES.values(), 0)
        self.names: list[tuple[int, int, str]] = []
        self.index: dict[int, IndexNode] = {}
        self.entries: dict[int, IndexEntry] = {}

    def run(self) -> Layout:
        self.areas = areas = self._areas()
        root = self._master(areas)
        self.journal = JournalScan(
            areas, self._leb, self._node, self.blocks, self.mounted, self.dirty
        )
        buds = self.journal.list_buds(self.log_at)
        reached = self._reached(root, areas)
        notes = self._replay_journal(buds, reached)
        for logical in sorted(self.blocks):
            offset = self._place(logical)
            if logical < areas.main:
                self.walk.add(
                    offset, self.attached.leb_bytes, ByteKind.METADATA, areas.part(logical)
                )
            elif logical >= areas.end:
                raise UsageError(
                    f"UBIFS has {areas.end} logical blocks, and block {logical} is mapped"
                )
            else:
                self._main(logical, reached, areas)
        if reached:
            raise UsageError(f"UBIFS: the index leads to {len(reached)} places where no node is")
        partition = self.partition
        top = self._place(root[0]) + root[1]
        paths = map_numbers_to_paths(self.names, ROOT_INODE)
        index = Index(top, self.index, self.entries, self.attached.leb_bytes)
        return Layout(
            "ubifs", partition.bytes, partition.erasesize, partition.writesize,
            self.walk.finish(partition.bytes), paths, self.walk.sizes, self.walk.pieces,
            self.counts, read_data=partition.read_data, index=index, unpack_room=BLOCK,
            names=map_paths_to_numbers(self.names, paths), notes=notes,
        )  # fmt: skip

    def _place(self, logical: int) -> int:
        return self.blocks[logical] * self.partition.erasesize + self.attached.data_offset

    def _leb(self, logical: int) -> bytes:
        """A logical block's bytes; one that is not mapped is erased."""
        block = self.blocks.get(logical)
        if block is None:
            return b""
        return self.partition.data(block)[self.attached.data_offset :]

    def _node(self, leb: bytes, logical: int, offset: int) -> UbifsNode:
        """The node there, with its checksum checked."""
        if (block := self.blocks.get(logical)) is None:
            refuse_unheld_block(logical)
        if offset < 0 or offset & 7 or offset + HEADER_STRUCT.size > len(leb):
            refuse_damaged_image(f"no UBIFS node (logical block {logical})", block, offset)
        magic, crc, _, size, kind, _ = HEADER_STRUCT.unpack_from(leb, offset)
        if magic != MAGIC or kind not in NAMES:
            refuse_damaged_image(
                f"no UBIFS node where one should be (logical block {logical})", block, offset
            )
        if not NODE_BYTES_MIN[kind] <= size <= len(leb) - offset:
            refuse_damaged_image(
                f"a UBIFS node of impossible length (logical block {logical})", block, offset
            )
        if ubi.compute_ubi_crc(leb[offset + 8 : offset + size]) != crc:
            refuse_damaged_image(
                f"a UBIFS node has a wrong checksum (logical block {logical})", block, offset
            )
        return UbifsNode(offset, size, kind)

    def _areas(self) -> UbifsAreas:
        leb = self._leb(0)
        if self._node(leb, 0, 0).kind != SB:
            refuse_damaged_image("no UBIFS superblock", self.blocks.get(0, -1), 0)
        _, key_format, flags, unit, leb_bytes, count, _, _, log, lpt, orphans, *_ = (
            SUPERBLOCK_STRUCT.unpack_from(leb)
        )
        if leb_bytes != self.attached.leb_bytes or key_format or not unit or unit % 8:
            raise UsageError("UBIFS: its superblock is of a chip of another geometry")
        if unit != self.partition.writesize:
            raise UsageError(
                f"UBIFS: its superblock tells of pages of {unit} bytes, "
                f"not {self.partition.writesize}"
            )
        if flags & ENCRYPTED:
            raise UsageError("UBIFS: encrypted: its names and files cannot be read without the key")
        if flags & AUTHENTICATED:
            raise UsageError("UBIFS: authenticated: an index with hashes is not read")
        lpt_at = 3 + log
        return UbifsAreas(3, lpt_at, lpt_at + lpt, lpt_at + lpt + orphans, count, unit, flags)

    def _read(self, logical: int, offset: int, count: int) -> bytes:
        return self.partition.read_data(self._place(logical) + offset, count)

    def _last(self, logical: int, unit: int) -> tuple[int, bytes] | None:
        """The newest master node in a logical block, and its sequence number."""
        leb, offset, newest = self._leb(logical), 0, None
        step = -(-NODE_BYTES_MIN[MST] // unit) * unit
        while offset < len(leb) and leb[offset : offset + 4] != b"\xff" * 4:
            try:
                node = self._node(leb, logical, offset)
            except UsageError:
                if newest is None or leb[offset + step :].strip(b"\xff"):
                    raise
                break  # the power went as it was written: the one before holds
            if node.kind == MST:
                sequence = HEADER_STRUCT.unpack_from(leb, offset)[2]
                newest = sequence, leb[offset : offset + node.bytes]
                offset += step
            elif node.kind == PAD:
                (padded,) = struct.unpack_from("<I", leb, offset + HEADER_STRUCT.size)
                offset += node.bytes + padded
            else:
                refuse_damaged_image(
                    "no UBIFS master node where one should be", self.blocks[logical], offset
                )
        return newest

    def _master(self, areas: UbifsAreas) -> tuple[int, int, int]:
        """Place of the index's root. Of two masters that differ the newer one holds, if the file
        system was not unmounted: the power went between them."""
        masters = [m for m in (self._last(1, areas.unit), self._last(2, areas.unit)) if m]
        if not masters:
            raise UsageError("UBIFS: it has no master node: it is damaged")
        _, newest = max(masters)
        _, self.commit, flags, self.log_at, lnum, offset, size = MASTER.unpack_from(newest)
        self.dirty = bool(flags & DIRTY)
        same = len(masters) == 2 and masters[0][1][24:] == masters[1][1][24:]
        if not same and (self.mounted or not self.dirty):
            raise UsageError("UBIFS: its two master nodes differ: it was cut off, or is damaged")
        return lnum, offset, size

    def _replay_journal(self, buds: list[Bud], reached: dict[Place, int]) -> tuple[str, ...]:
        """Applies the journal of a file system that was not unmounted, as a mount would."""
        if self.mounted or not self.dirty:
            return ()
        nodes = [node for bud in buds for node in self.journal.list_nodes(bud)]
        own = {place: reached[place] for place in reached.keys() - self.leaf_places}
        self.replay.apply(nodes)
        self.replay.drop_orphans()
        reached.clear()
        reached.update(own | self.replay.list_reached())
        return (
            f"UBIFS was not unmounted: the {len(nodes)} nodes of its journal are replayed, as a "
            "mount does",
        )

    def _reached(self, root: tuple[int, int, int], areas: UbifsAreas) -> dict[tuple[int, int], int]:
        """(Logical block, offset) -> length of every node that the index reaches, its own too."""
        reached: dict[tuple[int, int], int] = {}
        waiting = [(*root, LEVELS_MAX)]
        leb_number, leb = -1, b""
        while waiting:
            logical, offset, size, above = waiting.pop()
            if not areas.main <= logical < areas.end or (logical, offset) in reached:
                raise UsageError(
                    "UBIFS: its index is damaged: a node is out of the main area, or twice in it"
                )
            reached[logical, offset] = size
            if above == 0:
                continue
            if logical != leb_number:
                leb_number, leb = logical, self._leb(logical)
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
        if level == 0:
            for to, leb_offset, count, owner, low in raw:
                self.leaf_places.add((to, leb_offset))
                self.replay.index((owner, low), (to, leb_offset), count)
        flash_offset = self._place(logical) + offset
        branches = tuple(
            Branch(join_key_words((low, high)), self._place(to) + leb_offset, count)
            for to, leb_offset, count, low, high in raw
            if to in self.blocks
        )
        self.index[flash_offset] = IndexNode(flash_offset, size, level, branches)

    def _main(self, logical: int, reached: dict[tuple[int, int], int], areas: UbifsAreas) -> None:
        """Accounts for a logical block of the main area."""
        leb, base, offset = self._leb(logical), self._place(logical), 0
        end = len(leb.rstrip(b"\xff"))
        while offset < end:
            filled = count_fill_bytes(leb, offset)
            if filled:
                self.walk.add(base + offset, filled, ByteKind.SLACK, "padding")
                offset += filled
                continue
            node = self.journal.read_node_before_cut(leb, logical, offset)
            if node is None:
                break
            self.counts[NAMES[node.kind]] += 1
            aligned = min(-(-node.bytes // 8) * 8, len(leb) - offset)
            if node.kind == PAD:
                (padded,) = struct.unpack_from("<I", leb, offset + HEADER_STRUCT.size)
                if offset + node.bytes + padded > len(leb):
                    refuse_damaged_image(
                        "a padding node of impossible length", self.blocks[logical], offset
                    )
                self.walk.add(base + offset, node.bytes + padded, ByteKind.SLACK, "padding")
                offset += node.bytes + padded
                continue
            size = reached.pop((logical, offset), None)
            if size is None:
                part = PART_NAMES.get(node.kind, "journal")
                self.walk.add(base + offset, aligned, ByteKind.OBSOLETE, part)
            elif size != node.bytes:
                refuse_damaged_image(
                    "a UBIFS node is not as long as the index has it", self.blocks[logical], offset
                )
            else:
                self._live(leb, base, node)
                node_end = base + offset + node.bytes
                self.walk.add(node_end, aligned - node.bytes, ByteKind.SLACK, "8-byte alignment")
            offset += aligned
        unit = areas.unit
        page = min(-(-offset // unit) * unit, len(leb))
        if offset < end:  # cut off
            page = min(-(-end // unit) * unit, len(leb))
            self.walk.add(base + offset, page - offset, ByteKind.OBSOLETE, "torn writes")
        else:
            self.walk.add(base + offset, page - offset, ByteKind.SLACK, "padding")
        self.walk.add(base + page, len(leb) - page, ByteKind.FREE, "unwritten")

    def _live(self, leb: bytes, base: int, node: UbifsNode) -> None:
        offset = node.at
        (owner,) = struct.unpack_from("<I", leb, offset + HEADER_STRUCT.size)
        if node.kind == DATA:
            self._data(leb, base, node, owner)
        elif node.kind in (DENT, XENT):
            number, length = struct.unpack_from("<Q2xH", leb, offset + 40)
            if node.kind == DENT:
                self.names.append(
                    (owner, number, decode_file_name(leb[offset + 56 : offset + 56 + length]))
                )
                raw = struct.unpack_from("<II", leb, offset + HEADER_STRUCT.size)
                self.entries[base + offset] = IndexEntry(
                    join_key_words(raw), base + offset, owner, number
                )
            who = number if node.kind == DENT else owner
            self.walk.add(base + offset, node.bytes, ByteKind.METADATA, PART_NAMES[node.kind], who)
        elif node.kind == INO:
            self._inode(leb, base, node, owner)
        elif node.kind == IDX:
            self.walk.add(base + offset, node.bytes, ByteKind.METADATA, PART_NAMES[IDX])
        else:
            refuse_damaged_image(
                f"a {NAMES[node.kind]} node in the index", base // self.partition.erasesize, offset
            )

    def _data(self, leb: bytes, base: int, node: UbifsNode, owner: int) -> None:
        """A data node that holds: a block of a file, compressed or not."""
        block, size, packer = struct.unpack_from("<I8xIH", leb, node.at + HEADER_STRUCT.size + 4)
        start, stored = base + node.at + 48, node.bytes - 48
        if not 0 < size <= BLOCK or (packer == 0 and stored != size):
            refuse_damaged_image(
                "a data node of impossible size", base // self.partition.erasesize, node.at
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
            (size,) = struct.unpack_from("<Q", leb, node.at + SIZE_AT)
            self.walk.sizes[owner] = max(size, self.replay.data_ends.get(owner, 0))


DECODER = Decoder(
    "ubifs",
    decode_ubifs,
    lambda partition, volume: (decode_mounted_ubifs(partition, volume), []),
    (b"UBI#",),
    volumes=True,
)
