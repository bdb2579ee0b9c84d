# SPDX-License-Identifier: GPL-2.0-or-later
"""Trees that hypothesis drew, on the board: decoders find what a walk of the mount finds."""

from __future__ import annotations

import os
from random import Random

import contents
import pytest
from onboard import LIST, after
from support.compare import adapted
from support.place import Place
from support.sequences import REMOUNT, generate

from nandlab.board.jobs.job import Board, Step
from nandlab.flash.layouts.layout import ByteKind, Layout
from nandlab.image import tree

pytestmark = pytest.mark.board

SEED = int(os.environ.get("NANDLAB_SEED", "1"))
SEQUENCES = 40
BAD = {"bad_blocks": 12}
"""Of the chip; some are in the partition."""
PLACES = [
    Place("jffs2", "apf27", options={"compression": "zlib"}, faults=BAD),
    Place("jffs2", "nandsim-small"),
    Place("ubifs", "apf27", options={"compression": "none"}, faults=BAD),
    Place("ubifs", "nandsim-small", options={"compression": "lzo"}),
    Place("yaffs2", "apf27", faults=BAD),
    Place("yaffs2", "apf27", options={"inband_tags": "on"}),
    Place("yaffs2", "nandsim-small", faults=BAD),
    Place("nftl-fat32", "nandsim-small", faults=BAD),
]
MORE = [
    Place("jffs2", "apf27", options={"compression": "none"}),
    Place("ubifs", "apf27", options={"compression": "zlib"}),
    Place("yaffs2", "apf27", options={"checkpoint": "off", "summary": "off"}),
    Place("nftl-fat32", "nandsim-small", options={"cluster": "2048"}),
]
"""In make test-long."""


def name(place: Place) -> str:
    return "-".join([place.system, place.part, *place.options.values(), *place.faults])


def with_attributes(sequence: tuple[str, ...], random: Random) -> list[str]:
    """The sequence, some of whose files get attributes, now and then again."""
    lines = []
    for line in sequence:
        lines.append(line)
        kind, *words = line.split()
        if kind in ("stat", "mkdir", "chmod") and random.random() < 0.5:
            size = random.choice((1, 17, 100, 900))
            lines.append(f"setxattr {words[0]} {random.choice('pq')} {size} {random.randrange(9)}")
    return lines


def operations(place: Place) -> str:
    """All sequences without remounts, each in a folder of its own."""
    random = Random(SEED)
    lines = []
    for i, sequence in enumerate(generate(SEQUENCES, SEED)):
        plain = tuple(line for line in sequence if line != REMOUNT)
        lines += [f"seq {i}", *adapted(tuple(with_attributes(plain, random)), place.differs())]
    return "\n".join([*lines, ""])


@pytest.mark.parametrize(
    "place", [*PLACES, *(pytest.param(p, marks=pytest.mark.long) for p in MORE)], ids=name
)
def test_what_is_found_is_what_a_walk_finds(board: Board, place: Place) -> None:
    again = Step("again", place.remount())
    found = after(board, place, operations(place), again, LIST)
    layout = found.layout
    walked = tree.parse_treelist(found.record["list"].stdout.encode(errors="surrogateescape"))
    check_names(layout, walked, place)
    told = contents.sums(found.partition, layout)
    files = {f"/{e.path}": e for e in walked if e.is_file}
    assert set(told) <= set(files)
    for path, (size, crc) in told.items():
        assert (path, size) == (path, files[path].size)
        assert crc is None or (path, crc) == (path, files[path].crc32)
    missing = {e.inode for p, e in files.items() if p not in told and e.size}
    assert missing <= {files[p].inode for p in told}
    check_sums(layout, place)


def check_names(layout: Layout, walked: tree.FileTree, place: Place) -> None:
    """All first names are found; further ones are of files that have one."""
    own = {f"/{entry}" for entry in place.spec.filesystem.own_entries}
    there = {f"/{e.path}": e for e in walked if e.path}
    found = {p for p in layout.paths.values() if p != "/"} - own
    assert found <= set(there)
    named = {there[p].inode for p in found}
    lost = [p for p, e in there.items() if p not in found | own and e.inode not in named]
    assert [p for p in lost if there[p].size or not there[p].is_file] == []


def check_sums(layout: Layout, place: Place) -> None:
    sums = layout.sums()
    assert sum(sums.values()) == layout.partition_bytes
    assert layout.logical_bytes <= sum(layout.sizes.values())
    plain = all(not piece.packing for piece in layout.pieces)
    assert sums[ByteKind.USER] == layout.logical_bytes or not plain
    assert (sums[ByteKind.BAD] > 0) == bool(place.faults)
