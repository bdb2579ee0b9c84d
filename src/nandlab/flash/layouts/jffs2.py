# SPDX-License-Identifier: GPL-2.0-or-later
"""JFFS2: a partition's layout, refused where it cannot be of a chip of this geometry."""

from __future__ import annotations

import math

from nandlab.base.errors import UsageError
from nandlab.flash.layouts.cells import Partition
from nandlab.flash.layouts.decoders import Decoder
from nandlab.flash.layouts.jffs2files import (
    assemble_file_layout,
)
from nandlab.flash.layouts.jffs2nodes import (
    EVEN_PADDINGS_MIN,
    MAGIC_MARKS,
    DroppedNode,
    NodeGeometry,
    PartitionNodes,
)
from nandlab.flash.layouts.jffs2scan import (
    scan_partition_nodes,
)
from nandlab.flash.layouts.layout import Layout


def decode_jffs2(partition: Partition) -> Layout:
    """Where everything is; UsageError says what is wrong with the image."""
    nodes = scan_partition_nodes(partition, strict=True)
    _refuse_second_clean_marker(nodes, partition.erasesize)
    return assemble_file_layout(nodes, NodeGeometry.from_partition(partition))


def salvage_jffs2(partition: Partition) -> tuple[Layout, list[DroppedNode]]:
    """The same of a chip whose file system is mounted, or was cut off: nodes that cannot be read
    are dropped and told. What they held is not known.

    UsageError where what is left is no file system, or cannot be of a chip of this geometry.
    """
    return salvage_layout_from_nodes(
        scan_partition_nodes(partition), NodeGeometry.from_partition(partition)
    )


def salvage_layout_from_nodes(
    nodes: PartitionNodes, shape: NodeGeometry
) -> tuple[Layout, list[DroppedNode]]:
    """What is made of all that was found; UsageError as for :func:`salvage_jffs2`."""
    _refuse_second_clean_marker(nodes, shape.erasesize)
    if nodes.dropped:
        why = _explain_implausible(nodes)
        if why:
            raise UsageError(
                f"no JFFS2 of a chip with pages of {shape.writesize} bytes in blocks of "
                f"{shape.erasesize}: {why}; give the chip's own geometry, all of its blocks"
            )
    _refuse_larger_page(nodes, shape.writesize)
    _refuse_larger_block(nodes, shape.erasesize)
    unread = list(nodes.dropped)
    layout = assemble_file_layout(nodes, shape, strict=False)
    _restore_file_sizes(layout, unread)
    return layout, nodes.dropped


def _restore_file_sizes(layout: Layout, dropped: list[DroppedNode]) -> None:
    """Makes files as long as their lost nodes say, where it can be: a number that is damaged itself
    may say anything."""
    for node in dropped:
        size, end = layout.sizes.get(node.number), node.offset + node.plain
        if size is not None and size < end <= size + layout.partition_bytes:
            layout.sizes[node.number] = end


def find_missing_file_parts(layout: Layout) -> list[DroppedNode]:
    """Parts of files that no node holds, as nodes that are not there.

    JFFS2 writes nodes for a hole too, but for one within a page. So a dump that may lack blocks
    does not show that there is a hole where no node is.
    """
    missing_parts = []
    for number, size in layout.sizes.items():
        covered_end = 0
        for piece in [*layout.pieces_by_owner.get(number, []), None]:
            begin = size if piece is None else piece.offset
            if begin > covered_end:
                why = f"no node is there of {layout.paths[number]}, bytes {covered_end} to {begin}"
                missing_parts.append(
                    DroppedNode(0, 0, why, "inode", number, covered_end, begin - covered_end)
                )
            covered_end = begin + (piece.bytes if piece else 0)
    return missing_parts


def _explain_implausible(nodes: PartitionNodes) -> str | None:
    """Why what was found is no damaged JFFS2 but something else; None if it may be one."""
    if not nodes.sound:
        return "no node can be read"
    if nodes.crossing:
        return f"{nodes.crossing} nodes end past their erase block"
    if nodes.headless > 1 and nodes.headless * 4 > nodes.written:
        return f"{nodes.headless} of {nodes.written} blocks do not begin with a node"
    lost = sum(d.bytes for d in nodes.dropped)
    if lost > nodes.sound // 2:
        return f"{lost} bytes are no node, {nodes.sound} are"
    return None


def _refuse_larger_page(nodes: PartitionNodes, page: int) -> None:
    """Refuses a page that is larger than the chip's: padding ends where a page does.

    Source: Linux, fs/jffs2/wbuf.c.
    """
    within = sum(end % page != 0 for end in nodes.padded_to)
    if within * 4 > len(nodes.padded_to):
        raise UsageError(
            f"{within} of {len(nodes.padded_to)} padding nodes end within a page of {page} bytes: "
            "the chip's pages are smaller"
        )


def is_page_size_sure(nodes: PartitionNodes, page: int) -> bool:
    """Whether the chip's pages are known not to be larger than this: padding ends at an odd one.

    UsageError where they are larger: padding fills less than a page, and of padding nodes half end
    at odd pages. Of as many as EVEN_MANY, none does by one chance in 256.
    """
    if nodes.padding_most >= page:
        raise UsageError(
            f"a padding node has {nodes.padding_most} bytes, and padding fills a page, here of "
            f"{page}: the chip's pages are larger"
        )
    odd = any(end % (2 * page) for end in nodes.padded_to)
    if len(nodes.padded_to) >= EVEN_PADDINGS_MIN and not odd:
        raise UsageError(
            f"all {len(nodes.padded_to)} padding nodes end at multiples of {2 * page}: with a page "
            f"of {page} bytes half of them would not; the chip's pages are larger"
        )
    return odd


def _refuse_second_clean_marker(nodes: PartitionNodes, erasesize: int) -> None:
    """Refuses an erase block that is larger than the chip's: each begins with its clean marker.

    Source: Linux, fs/jffs2/scan.c, jffs2_scan_eraseblock(); mtd-utils, mkfs.jffs2.c.
    """
    if nodes.markers_within:
        block_bytes = math.gcd(erasesize, *nodes.markers_within)
        raise UsageError(
            f"{len(nodes.markers_within)} clean markers lie within a block of {erasesize} bytes, "
            f"and each begins a block: the chip's erase blocks are smaller, give {block_bytes} "
            f"(--erase-block {block_bytes}, or a chip that has such)"
        )


def _refuse_larger_block(nodes: PartitionNodes, erasesize: int) -> None:
    """Refuses an erase block that is larger than the chip's: each ends with its own summary.

    Source: Linux, fs/jffs2/summary.c.
    """
    if nodes.elsewhere:
        raise UsageError(
            f"{nodes.elsewhere} summaries are not where they say in a block of {erasesize} bytes: "
            "the chip's erase blocks are smaller"
        )


DECODER = Decoder("jffs2", decode_jffs2, salvage_jffs2, tuple(MAGIC_MARKS))
