# SPDX-License-Identifier: GPL-2.0-or-later
"""JFFS2: files put together from their nodes, replayed in the order of their versions.

Source: Linux, fs/jffs2/readinode.c.
"""

from __future__ import annotations

from nandlab.base.errors import UsageError
from nandlab.flash.layouts.jffs2copies import CoveredRanges, sort_node_copies
from nandlab.flash.layouts.jffs2nodes import (
    DIRENT_NODE,
    INODE_NODE,
    NO_COMPRESSION,
    PACKINGS,
    REGULAR,
    ROOT,
    XREF_NODE,
    ZEROES,
    AttributeNode,
    DataNode,
    DirentNode,
    NodeGeometry,
    PartitionNodes,
    ReferenceNode,
)
from nandlab.flash.layouts.layout import (
    ByteKind,
    FilePiece,
    Layout,
    LayoutCollector,
    decode_file_name,
    map_numbers_to_paths,
    map_paths_to_numbers,
)


def assemble_file_layout(
    nodes: PartitionNodes, shape: NodeGeometry, *, strict: bool = True
) -> Layout:
    """Files put together from their nodes; strict: UsageError for a name that leads nowhere."""
    walk = nodes.walk
    names = [(d.parent, d.number, decode_file_name(d.name)) for d in _account_dirents(walk, nodes)]
    reached = map_numbers_to_paths(names, ROOT)
    lost = next((n for n in reached if n != ROOT and n not in nodes.pieces), None)
    if lost is not None and (strict or not nodes.dropped):
        raise UsageError(f"{reached[lost]}: no node of inode {lost} is there. Nothing is summed")
    copies = sort_node_copies(nodes.pieces, reached, shape.erasesize)
    for number, pieces in nodes.pieces.items():
        _account_inode(walk, number, pieces, number in reached)
    _account_attributes(walk, nodes, reached)
    nodes.dropped += copies.doubtful
    return Layout(
        "jffs2", shape.bytes, shape.erasesize, shape.writesize,
        walk.finish(shape.bytes), reached, walk.sizes, walk.pieces, nodes.counts,
        walk.nodes, walk.dead, shape.read_data, names=map_paths_to_numbers(names, reached),
        moved_owners=frozenset(n for n in walk.nodes if _may_have_moved(nodes.pieces[n])),
        last_copy=copies.last,
    )  # fmt: skip


def _account_dirents(walk: LayoutCollector, nodes: PartitionNodes) -> list[DirentNode]:
    """Tells names that hold from those that do not; gives those of files that are there."""
    latest: dict[tuple[int, bytes], DirentNode] = {}
    for d in nodes.dirents:
        previous = latest.get((d.parent, d.name))
        if previous is None or d.version > previous.version:
            latest[d.parent, d.name] = d
    holding = [d for d in latest.values() if d.number]
    reached = map_numbers_to_paths(((d.parent, d.number, "") for d in holding), ROOT)
    for d in nodes.dirents:
        size = DIRENT_NODE.size + len(d.name)
        if latest[d.parent, d.name] is not d or d.parent not in reached:
            walk.add(d.at, size, ByteKind.OBSOLETE, "names")
        elif not d.number:
            walk.add(d.at, size, ByteKind.METADATA, "deletion names")
        else:
            walk.add(d.at, DIRENT_NODE.size, ByteKind.METADATA, "node headers", d.number)
            walk.add(d.at + DIRENT_NODE.size, len(d.name), ByteKind.METADATA, "names", d.number)
    return [d for d in holding if d.parent in reached]


def _account_inode(
    walk: LayoutCollector, number: int, pieces: list[DataNode], reached: bool
) -> None:
    """Accounts for an inode's nodes."""
    by_version: dict[int, DataNode] = {}
    for piece in pieces:
        previous = by_version.setdefault(piece.version, piece)
        if previous is not piece or not reached:
            part = "older copies of nodes" if reached else "nodes of deleted files"
            walk.add(piece.at, INODE_NODE.size + piece.stored, ByteKind.OBSOLETE, part)
            walk.dead[number] += INODE_NODE.size + piece.stored
    if not reached:
        return
    order = sorted(by_version.values(), reverse=True)
    latest = order[0]
    if latest.mode & 0o170000 != REGULAR:
        for piece in order:
            _account_special_node(walk, number, piece, piece is latest)
        return
    walk.sizes[number] = latest.isize
    covered = CoveredRanges(latest.isize)
    walk.nodes[number] = [
        piece.at
        for piece in order
        if _account_data_node(walk, number, piece, covered, piece is latest)
    ]


def _may_have_moved(pieces: list[DataNode]) -> bool:
    """Whether the collector may have moved nodes: there is one twice, or a version is nowhere, so a
    block that had it was erased. A file's versions are counted from 1."""
    return not len(pieces) == len({p.version for p in pieces}) == max(p.version for p in pieces)


def _account_special_node(
    walk: LayoutCollector, number: int, piece: DataNode, latest: bool
) -> None:
    if not latest:
        walk.add(piece.at, INODE_NODE.size + piece.stored, ByteKind.OBSOLETE, "covered nodes")
        return
    walk.add(piece.at, INODE_NODE.size, ByteKind.METADATA, "node headers", number)
    walk.add(piece.at + INODE_NODE.size, piece.stored, ByteKind.METADATA, "link targets", number)


def _account_data_node(
    walk: LayoutCollector, number: int, piece: DataNode, covered: CoveredRanges, latest: bool
) -> bool:
    """One node of a regular file, of which newer nodes cover parts; False if they cover it all."""
    visible_ranges = covered.take(piece.offset, piece.offset + piece.plain)
    visible = sum(to - start for start, to in visible_ranges)
    walk.dead[number] += _count_dead_bytes(piece, visible, latest=latest)
    start = piece.at + INODE_NODE.size
    if not visible_ranges and not latest:
        walk.add(piece.at, INODE_NODE.size + piece.stored, ByteKind.OBSOLETE, "covered nodes")
        return False
    walk.add(piece.at, INODE_NODE.size, ByteKind.METADATA, "node headers", number)
    stored = 0 if piece.compressor == ZEROES else piece.stored
    packing = PACKINGS.get(piece.compressor, f"compressor {piece.compressor}")
    walk.pieces += [
        FilePiece(
            number, begin, to - begin, start, stored, begin - piece.offset, packing, piece.plain
        )
        for begin, to in visible_ranges
    ]
    if piece.compressor == ZEROES:
        walk.add(start, piece.stored, ByteKind.OBSOLETE, "covered data")
    elif piece.compressor != NO_COMPRESSION:
        kind, part = (
            (ByteKind.USER, "data") if visible_ranges else (ByteKind.OBSOLETE, "covered data")
        )
        walk.add(start, piece.stored, kind, part, number)
    else:
        _account_uncompressed(walk, number, piece, visible_ranges)
    return True


def _account_uncompressed(
    walk: LayoutCollector, number: int, piece: DataNode, visible_ranges: list[tuple[int, int]]
) -> None:
    """The data of a node byte for byte: what is seen of it, and what newer nodes cover."""
    start = piece.at + INODE_NODE.size
    accounted_end = piece.offset
    for begin, to in visible_ranges:
        walk.add(
            start + accounted_end - piece.offset,
            begin - accounted_end,
            ByteKind.OBSOLETE,
            "covered data",
            number,
        )
        walk.add(start + begin - piece.offset, to - begin, ByteKind.USER, "data", number)
        accounted_end = to
    rest_bytes = piece.offset + piece.plain - accounted_end
    walk.add(
        start + accounted_end - piece.offset, rest_bytes, ByteKind.OBSOLETE, "covered data", number
    )


def _count_dead_bytes(piece: DataNode, visible: int, *, latest: bool) -> int:
    """Bytes of a node that newer ones cover: a node that is compressed is kept whole."""
    if not visible:
        return piece.stored if latest else INODE_NODE.size + piece.stored
    return piece.plain - visible if piece.compressor == NO_COMPRESSION else 0


def _account_attributes(
    walk: LayoutCollector, nodes: PartitionNodes, reached: dict[int, str]
) -> None:
    newest: dict[tuple[int, int], ReferenceNode] = {}
    for r in nodes.references:
        previous = newest.get((r.inode, r.attribute))
        if previous is None or r.version > previous.version:
            newest[r.inode, r.attribute] = r
    live = {r.attribute for r in newest.values() if r.inode in reached and not r.version & 1}
    for r in nodes.references:
        holds = newest[r.inode, r.attribute] is r and r.inode in reached
        kind = ByteKind.METADATA if holds else ByteKind.OBSOLETE
        walk.add(r.at, XREF_NODE.size, kind, "extended attributes", r.inode)
    latest: dict[int, AttributeNode] = {}
    for a in nodes.attributes:
        old = latest.get(a.number)
        if old is None or a.version > old.version:
            latest[a.number] = a
    for a in nodes.attributes:
        holds = latest[a.number] is a and a.number in live
        kind = ByteKind.METADATA if holds else ByteKind.OBSOLETE
        walk.add(a.at, a.bytes, kind, "extended attributes")
