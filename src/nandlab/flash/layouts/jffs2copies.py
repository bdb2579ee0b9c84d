# SPDX-License-Identifier: GPL-2.0-or-later
"""JFFS2: which of a node's copies the kernel reads, where the collector moved it.

Source: Linux, fs/jffs2/gc.c. A node that is whole is written anew as it is, version and all
(jffs2_garbage_collect_pristine()); what it was before stays on the flash until its block is erased.
The collector goes through a block from its first node on (jffs2_garbage_collect_pass()). So where a
node that is needed and lies nowhere else comes before a copy in its block, this copy was not moved:
it is the later one. A mount keeps the copy that lies last on the flash: its scan meets that one
last, so the first look-up meets it first (readinode.c, jffs2_add_tn_to_tree()).
"""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from nandlab.flash.layouts.jffs2nodes import DataNode, DroppedNode

DOUBT_TEXT = "lies twice, for the collector moved it, and which of the two is read is not told"


class CoveredRanges:
    """Ranges of a file that newer nodes hold, and all that is past its end."""

    def __init__(self, size: int) -> None:
        self.ranges: list[tuple[int, int]] = [(size, 1 << 40)]

    def take(self, start: int, end: int) -> list[tuple[int, int]]:
        """Covers a range; gives what of it was not covered before."""
        ranges = self.ranges
        first = bisect.bisect_left(ranges, (start,))
        if first and ranges[first - 1][1] >= start:
            first -= 1
        uncovered: list[tuple[int, int]] = []
        position, last = start, first
        low, high = start, end
        while last < len(ranges) and ranges[last][0] <= end:
            begin, to = ranges[last]
            if position < begin:
                uncovered.append((position, min(begin, end)))
            position = max(position, to)
            low, high = min(low, begin), max(high, to)
            last += 1
        if position < end:
            uncovered.append((position, end))
        if start < end:
            ranges[first:last] = [(low, high)]
        return [s for s in uncovered if s[0] < s[1]]


@dataclass
class NodeCopies:
    """What was found of nodes that lie more than once."""

    doubtful: list[DroppedNode] = field(default_factory=list)
    """Needed ones of which it is not told which copy is read, as nodes that are not there."""
    last: dict[int, int] = field(default_factory=dict)
    """First byte of the copy that is read -> of the one that is read after a mount."""


def sort_node_copies(
    pieces: dict[int, list[DataNode]], reached: Collection[int], erasesize: int
) -> NodeCopies:
    """Sorts the nodes of each file so that of copies the one that is read comes first."""
    sorted_copies = NodeCopies()
    twice = {number: groups for number in pieces if (groups := _group_copies(pieces[number]))}
    copies = [d for groups in twice.values() for group in groups.values() for d in group]
    if not copies:
        return sorted_copies
    first = _find_first_needed(pieces, twice, reached, copies, erasesize)
    for number, groups in twice.items():
        needed = _find_needed_versions(pieces[number]) if number in reached else frozenset()
        chosen = set()
        for version, group in groups.items():
            later = [d.at for d in group if first.get(d.at // erasesize, d.at) < d.at]
            last = max(d.at for d in group)
            chosen.add(later[0] if len(later) == 1 else last)
            if len(later) == 1:
                sorted_copies.last[later[0]] = last
            elif version in needed:
                copy = group[0]
                doubt = DroppedNode(
                    last, 0, f"a node {DOUBT_TEXT}", "inode", number, copy.offset, copy.plain
                )
                sorted_copies.doubtful.append(doubt)
        pieces[number].sort(key=lambda d: d.at not in chosen)
    return sorted_copies


def _group_copies(nodes: list[DataNode]) -> dict[int, list[DataNode]]:
    """The copies of each version of which there is more than one."""
    if len({d.version for d in nodes}) == len(nodes):
        return {}
    by_version: dict[int, list[DataNode]] = defaultdict(list)
    for node in nodes:
        by_version[node.version].append(node)
    return {version: group for version, group in by_version.items() if len(group) > 1}


def _find_needed_versions(nodes: list[DataNode]) -> frozenset[int]:
    """The versions of which a file needs some bytes."""
    order = sorted({d.version: d for d in nodes}.values(), reverse=True)
    covered = CoveredRanges(order[0].isize)
    return frozenset(d.version for d in order if covered.take(d.offset, d.offset + d.plain))


def _find_first_needed(
    pieces: Mapping[int, list[DataNode]],
    twice: Mapping[int, Collection[int]],
    reached: Collection[int],
    copies: list[DataNode],
    erasesize: int,
) -> dict[int, int]:
    """Block that has copies -> its first node before them that a file needs and that lies once."""
    ends: dict[int, int] = {}
    for d in copies:
        ends[d.at // erasesize] = max(d.at, ends.get(d.at // erasesize, -1))
    first: dict[int, int] = {}
    for number, nodes in pieces.items():
        near = [d for d in nodes if d.at < ends.get(d.at // erasesize, -1)]
        if not near or number not in reached:
            continue
        needed = _find_needed_versions(nodes)
        for d in near:
            if d.version in needed and d.version not in twice.get(number, ()):
                block = d.at // erasesize
                first[block] = min(d.at, first.get(block, d.at))
    return first
