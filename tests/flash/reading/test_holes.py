# SPDX-License-Identifier: GPL-2.0-or-later
"""Holes that a call meets, and how far their trees are gone down."""

from __future__ import annotations

import math

import pytest

from nandlab.flash.layouts.layout import HOLE, FilePiece, Layout
from nandlab.flash.reading.kernelstate import KernelState
from nandlab.flash.reading.reads import FilePieces
from nandlab.flash.reading.times import Holes, count_call_holes

FILE, CHUNK = 257, 2048


def count_chunk_holes(page: int, size: int, *stored: int) -> Holes:
    """Of a page of a file of YAFFS2 whose chunks with these numbers, from 0, are stored."""
    pieces = [FilePiece(FILE, n * CHUNK, CHUNK, n * CHUNK, CHUNK, 0, "", CHUNK) for n in stored]
    shape = 1 << 24, 1 << 17, CHUNK
    of = Layout("yaffs2", *shape, [], {FILE: "/a"}, {FILE: size}, pieces, {}, chunk_bytes=CHUNK)
    return count_call_holes(KernelState(of, {}).read(FilePieces(of, FILE), page))


@pytest.mark.parametrize(
    ("page", "size", "stored", "expected"),
    [
        (0, 4096, (0, 1), Holes(0, 0, 0)),
        (1, 16384, (0, 7), Holes(2, 0, 2)),  # the leaf alone is the tree
        (1, 6144, (0,), Holes(1, 0, 1)),  # the second chunk of the page is past the end
        (20, 1 << 20, (3,), Holes(2, 0, 0)),  # chunks 41 and 42 are outside of a tree of one leaf
        # chunks 1 to 127 are a node with eight leaves: that of 41 and 42 is there, then is not
        (20, 1 << 20, (3, 32, 100), Holes(2, 2, 2)),
        (20, 1 << 20, (3, 100), Holes(2, 2, 0)),
        # a tree of 8,192 chunks: three nodes and the leaf; two, for chunks 512 to 639 have none
        (20, 1 << 24, (32, 2000), Holes(2, 6, 2)),
        (300, 1 << 24, (32, 2000), Holes(2, 4, 0)),
        (1, 1 << 20, (), Holes(2, 0, 0)),
    ],
)
def test_chunks_that_are_not_stored(
    page: int, size: int, stored: tuple[int, ...], expected: Holes
) -> None:
    assert count_chunk_holes(page, size, *stored) == expected


def test_nodes_of_holes_are_found_in_a_balanced_tree() -> None:
    data = [FilePiece(FILE, n * 8192, 4096, n * 200, 4096, 0, "", 4096) for n in range(4)]
    gaps = [
        FilePiece(FILE, n * 8192 + 4096, 4096, n * 200 + 100, 0, 0, HOLE, 4096) for n in range(4)
    ]
    holes = sorted([*data, *gaps], key=lambda piece: piece.offset)
    of = Layout("jffs2", 1 << 20, 1 << 17, CHUNK, [], {FILE: "/a"}, {FILE: 32768}, holes, {})
    state, file = KernelState(of), FilePieces(of, FILE)
    assert count_call_holes(state.read(file, 1)) == Holes(1, math.log2(8))
    assert count_call_holes(state.read(file, 2)) == Holes(0, 0)
