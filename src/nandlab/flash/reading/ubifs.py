# SPDX-License-Identifier: GPL-2.0-or-later
"""UBIFS: a data node by its key, through the nodes of the index that are not in memory yet.

Source: Linux 6.1, fs/ubifs, of tnc.c ubifs_lookup_level0() and ubifs_tnc_locate(), of file.c
do_readpage(), of dir.c ubifs_lookup(). A look-up goes from the index's root down, one node a level.
Each node that it comes through stays in memory (TNC), and so does the node of a name (leaf node
cache). A data node is read each time, header and data at once. UBI reads a logical block where its
physical block has it.

With bulk-read (``ubifs_bulk_read()``, an option that is off by default), the third page in a row
takes all nodes that follow it without a gap, at once. It is taken for granted that no read-ahead
holds the pages that it fills.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

from nandlab.base.errors import UsageError
from nandlab.flash.layouts.index import Branch, Index, IndexEntry, IndexNode
from nandlab.flash.layouts.layout import Layout
from nandlab.flash.layouts.ubifsnodes import (
    BRANCH_STRUCT,
    DATA_KEY,
    DENT,
    IDX,
    INO,
    INODE_KEY,
    KEY_BLOCK,
    NAME_KEY,
    NODE_BYTES_MIN,
    ROOT_INODE,
    make_leaf_node_key,
)
from nandlab.flash.reading import packers
from nandlab.flash.reading.packers import PackedData
from nandlab.flash.reading.reader import FilesystemReader
from nandlab.flash.reading.reads import PAGE_BYTES, FilePieces, MtdRead

DATA_HEADER = 48
"""Bytes of a data node before its data."""
FANOUT = 8
"""Branches of a node of the index, unless the file system was made with another number. A file that
is written in order fills them all (tnc_insert())."""


BULK_PAGES, BULK_AFTER = 32, 3
"""Pages of a bulk read, at most (UBIFS_MAX_BULK_READ); page in a row from which on it is done."""
BULK_BYTES = BULK_PAGES * (DATA_HEADER + PAGE_BYTES)


@dataclass
class _ReadRun:
    """What an inode in memory keeps of how it is read."""

    last: int = 0
    """The page that was read last, by itself or with others."""
    length: int = 0
    """Pages in a row."""
    bulk: bool = False


class UbifsReader(FilesystemReader):
    """Keeps the index's nodes and the names that it came by."""

    layout_name = "ubifs"
    header = DATA_HEADER
    align = 8
    packers = frozenset(packers.UBIFS_PACKERS)

    def __init__(self, layout: Layout, options: Mapping[str, str], *, mounted: bool) -> None:
        super().__init__(layout, options, mounted=mounted)
        self.bulk = options.get("bulk_read") == "on"
        self.runs: dict[int, _ReadRun] = {}
        assert layout.index is not None
        self.index: Index = layout.index
        self.cached: set[int] = set()
        """First bytes of the nodes in memory: of the index, and of names."""

    def page(self, file: FilePieces, page: int) -> Iterator[MtdRead]:
        """The node of the page's data, if it has any; a page past the end is not looked up."""
        if self.bulk and (yield from self._in_bulk(file, page)):
            return
        if page * PAGE_BYTES >= file.size:
            return
        branch = yield from self._find(make_leaf_node_key(file.owner, DATA_KEY, page))
        if branch is not None:
            yield MtdRead(branch.at, branch.bytes)

    def open(self, owner: int, folder: int | None = None) -> list[MtdRead]:
        """The node of its name, then its inode's."""
        return list(self._open(owner, folder))

    def _open(self, owner: int, folder: int | None) -> Iterator[MtdRead]:
        named = self._entries.get(owner, [])
        entry = next((e for e in named if folder in {None, e.folder}), None)
        if entry is not None:
            branch = yield from self._find(entry.key)
            if branch is not None and branch.at not in self.cached:
                self.cached.add(branch.at)
                yield MtdRead(branch.at, branch.bytes)
        inode = yield from self._find(make_leaf_node_key(owner, INODE_KEY))
        if inode is not None:
            yield MtdRead(inode.at, inode.bytes)

    def nodes(self, owner: int, asked: Sequence[MtdRead]) -> int:
        """A name's, unless it is in memory, and an inode's."""
        return sum(not read.branches for read in asked)

    def opened(self, asked: Sequence[MtdRead]) -> int | None:
        return next((o for read in asked if (o := self._inodes.get(read.at))), None)

    def note_read(self, read: MtdRead) -> None:
        """A node of the index that is read again was not in memory any more; nor was one below."""
        if read.at in self.index.nodes:
            if read.at in self.cached:
                self.cached -= self._below(read.at)
            self.cached.add(read.at)
        elif read.at in self.index.entries:
            self.cached.add(read.at)
        elif read.at in self._inodes:
            self.runs.pop(self._inodes[read.at], None)

    def drop(self) -> None:
        self.cached.clear()
        self.runs.clear()

    @classmethod
    def completed(cls, layout: Layout) -> Layout:
        """With its name, its inode and an index, all in the erase block after the data."""
        leaves = [
            Branch(
                make_leaf_node_key(p.owner, DATA_KEY, p.offset // PAGE_BYTES),
                p.at - DATA_HEADER,
                DATA_HEADER + p.stored,
            )
            for p in layout.pieces
        ]
        end = max((leaf.at + leaf.bytes for leaf in leaves), default=0)
        offset = -(-end // layout.erasesize) * layout.erasesize
        entries = {}
        for owner in layout.nodes:
            name = layout.paths.get(owner, "").rpartition("/")[2].encode()
            entry = IndexEntry(make_leaf_node_key(ROOT_INODE, NAME_KEY), offset, ROOT_INODE, owner)
            entries[offset] = entry
            leaves.append(Branch(entry.key, offset, NODE_BYTES_MIN[DENT] + len(name) + 1))
            offset += _align(leaves[-1].bytes)
            leaves.append(Branch(make_leaf_node_key(owner, INODE_KEY), offset, NODE_BYTES_MIN[INO]))
            offset += NODE_BYTES_MIN[INO]
        return replace(layout, index=_make_index(sorted(leaves), offset, entries))

    @classmethod
    def begin(cls, layout: Layout) -> int:
        """Behind UBI's headers."""
        unit = layout.index.unit_bytes if layout.index else 0
        return layout.erasesize - unit if unit else 0

    @classmethod
    def packed(cls, layout: Layout, data: bytes, room: int) -> PackedData | None:
        """By the compressor that most of its nodes have; none is cut short."""
        packed = packers.pack_for_ubifs(data, layout.packings[0] if layout.packings else "")
        return packed if len(packed.data) <= room else None

    def begun(self, asked: Iterable[MtdRead]) -> None:
        """The first read of a node must be the root's, for without it no node is found."""
        nodes = self.index.nodes.keys() | self._inodes.keys() | self.index.entries.keys()
        nodes |= {p.at - DATA_HEADER for p in self.layout.pieces}
        first = next((read.at for read in asked if read.at in nodes), self.index.root)
        if first != self.index.root:
            raise UsageError(
                "some of UBIFS's index was in memory when the trace began, and the chip does not "
                "tell what: end --before with sync; echo 3 > /proc/sys/vm/drop_caches"
            )

    def copy(self) -> Self:
        other = super().copy()
        other.cached = set(self.cached)
        other.runs = {owner: replace(run) for owner, run in self.runs.items()}
        return other

    def _load(self, offset: int) -> Generator[MtdRead, None, IndexNode]:
        """A node of the index, read unless it is in memory."""
        node = self.index.nodes[offset]
        if offset not in self.cached:
            self.cached.add(offset)
            yield MtdRead(offset, node.bytes, branches=len(node.branches))
        return node

    def _down(self, key: int) -> Generator[MtdRead, None, list[tuple[IndexNode, int]]]:
        """The nodes on the way to a key from the root, and which branch of each leads on."""
        node = yield from self._load(self.index.root)
        way = [(node, node.last(key))]
        while node.level:
            node = yield from self._load(node.branches[max(way[-1][1], 0)].at)
            way.append((node, node.last(key)))
        return way

    def _find(self, key: int) -> Generator[MtdRead, None, Branch | None]:
        """A key's branch; None: there is none."""
        node, n = (yield from self._down(key))[-1]
        return node.branches[n] if n >= 0 and node.keys[n] == key else None

    def _next(self, way: list[tuple[IndexNode, int]]) -> Generator[MtdRead, None, Branch | None]:
        """The next branch of level 0, to which the way is led; None: that was the last."""
        depth = len(way)
        while way:
            node, n = way.pop()
            n = max(n, 0) + 1 if node.level else n + 1
            if n < len(node.branches):
                break
        else:
            return None
        way.append((node, n))
        while len(way) < depth:
            node = yield from self._load(node.branches[way[-1][1]].at)
            way.append((node, 0))
        return node.branches[way[-1][1]]

    def _in_bulk(self, file: FilePieces, page: int) -> Generator[MtdRead, None, bool]:
        """Reads a page with those that follow it, if it is time to; whether it did."""
        run = self.runs.setdefault(file.owner, _ReadRun())
        in_turn, run.last = page == run.last + 1, page
        if not in_turn:
            run.length, run.bulk = 1, False
            return False
        if not run.bulk:
            run.length += 1
            if run.length < BULK_AFTER:
                return False
            run.bulk = True
        nodes, pages, ended = yield from self._together(file.owner, page)
        if ended:
            run.length, run.bulk = 1, False
        if not pages:
            run.length, run.bulk = 0, False
            return False
        if nodes:
            yield MtdRead(nodes[0].at, nodes[-1].at + nodes[-1].bytes - nodes[0].at)
        run.last = min(page + pages, file.pages) - 1
        return True

    def _together(
        self, owner: int, page: int
    ) -> Generator[MtdRead, None, tuple[list[Branch], int, bool]]:
        """Nodes that lie one after the other, pages that they stand for, holes too, and whether the
        file has no more (ubifs_tnc_get_bu_keys())."""
        first, most = (
            make_leaf_node_key(owner, DATA_KEY, page),
            make_leaf_node_key(owner, DATA_KEY, KEY_BLOCK),
        )
        room = min(BULK_BYTES, self.index.unit_bytes or BULK_BYTES)
        way = yield from self._down(first)
        node, n = way[-1]
        branches = [node.branches[n]] if n >= 0 and node.keys[n] == first else []
        pages, key = len(branches), first
        while len(branches) < BULK_PAGES and pages < BULK_PAGES:
            after = yield from self._next(way)
            if after is None or after.key > most:
                return branches, pages, True
            if branches:
                end = branches[-1].at + _align(branches[-1].bytes)
                if after.at != end or after.at + after.bytes - branches[0].at > room:
                    break
            pages += after.key - key - 1
            if pages >= BULK_PAGES:
                break
            branches.append(after)
            pages, key = pages + 1, after.key
        return branches, min(pages, BULK_PAGES), False

    def _below(self, offset: int) -> set[int]:
        """All that is reached by a node of the index."""
        reached, waiting = set(), [offset]
        while waiting:
            node = self.index.nodes.get(waiting.pop())
            if node is not None:
                reached |= {branch.at for branch in node.branches}
                waiting += (branch.at for branch in node.branches)
        return reached

    @cached_property
    def _entries(self) -> dict[int, list[IndexEntry]]:
        found: dict[int, list[IndexEntry]] = {}
        for entry in self.index.entries.values():
            found.setdefault(entry.number, []).append(entry)
        return found

    @cached_property
    def _inodes(self) -> dict[int, int]:
        """First byte of a regular file's inode -> the file."""
        keys = {make_leaf_node_key(owner, INODE_KEY): owner for owner in self.layout.sizes}
        leaves = (b for node in self.index.nodes.values() if not node.level for b in node.branches)
        return {branch.at: keys[branch.key] for branch in leaves if branch.key in keys}


def _align(count: int) -> int:
    return -(-count // UbifsReader.align) * UbifsReader.align


def _make_index(leaves: list[Branch], offset: int, entries: dict[int, IndexEntry]) -> Index:
    """A tree of full nodes over leaves in order of their keys, the lowest written first."""
    nodes: dict[int, IndexNode] = {}
    level, branches = 0, leaves
    while level == 0 or len(branches) > 1:
        above = []
        for first in range(0, len(branches), FANOUT):
            children = tuple(branches[first : first + FANOUT])
            count = NODE_BYTES_MIN[IDX] + BRANCH_STRUCT.size * len(children)
            nodes[offset] = IndexNode(offset, count, level, children)
            above.append(Branch(children[0].key, offset, count))
            offset += _align(count)
        level, branches = level + 1, above
    return Index(branches[0].at, nodes, entries)


READER = UbifsReader
