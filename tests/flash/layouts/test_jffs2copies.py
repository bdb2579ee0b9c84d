# SPDX-License-Identifier: GPL-2.0-or-later
"""Nodes that JFFS2's collector wrote anew while the old ones are still there."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.dumpsteps import as_file
from support.jffs2made import Made

from nandlab.base.errors import UsageError
from nandlab.flash.layouts.flashfile import FlashFileOptions, read_flash_file_layout
from nandlab.flash.layouts.jffs2nodes import INODE_NODE, DroppedNode
from nandlab.flash.layouts.layout import Layout
from nandlab.flash.layouts.shape import Shape
from nandlab.flash.reading.kernelstate import KernelState
from nandlab.flash.reading.reads import FilePieces

SHAPE = Shape(2048, 16 << 10, 64)
MOVED, OTHER = 2, 3
DATA = 1000
NODE = INODE_NODE.size + DATA


def files() -> Made:
    of = Made(SHAPE, 8)
    of.name(MOVED, b"moved")
    return of


def write(of: Made, number: int, page: int = 0) -> int:
    """A node of a page of a file; its first byte on the flash."""
    if number not in of.files:
        of.name(number, b"other")
    of.write(number, page * DATA, b"d" * DATA)
    return len(of.data) - NODE


def copied(of: Made, at: int) -> int:
    """A node written anew as it is."""
    of.data += of.data[at : at + NODE]
    return len(of.data) - NODE


def next_block(of: Made) -> None:
    of.data += b"\xff" * (-len(of.data) % SHAPE.erase_block)


def mapped(path: Path, of: Made) -> tuple[Layout, list[DroppedNode]]:
    dump = as_file(path / "dump", of.dump())
    return read_flash_file_layout(dump, FlashFileOptions(None, None, SHAPE), tolerant=True)


def place(layout: Layout, *, mounted: bool) -> int:
    """Where a read of the first page of the moved file begins."""
    reader = KernelState(layout, mounted=mounted).reader
    return next(iter(reader.page(FilePieces(layout, MOVED), 0))).at


def test_a_copy_behind_a_node_that_was_not_moved_is_the_later_one(tmp_path: Path) -> None:
    of = files()
    write(of, OTHER)
    copy = len(of.data)
    write(of, MOVED)
    next_block(of)
    original = copied(of, copy)
    layout, dropped = mapped(tmp_path, of)
    assert dropped == []
    assert layout.moved_owners == {MOVED}
    assert place(layout, mounted=False) == copy
    assert place(layout, mounted=True) == original


def test_where_both_copies_may_have_been_moved_the_page_is_not_known(tmp_path: Path) -> None:
    of = files()
    first = write(of, MOVED)
    next_block(of)
    copied(of, first)
    write(of, OTHER)
    layout, dropped = mapped(tmp_path, of)
    assert [(d.number, d.offset, d.plain) for d in dropped] == [(MOVED, 0, DATA)]
    assert layout.sizes[MOVED] == DATA


def test_of_a_node_that_is_covered_it_does_not_matter(tmp_path: Path) -> None:
    of = files()
    first = write(of, MOVED)
    next_block(of)
    copied(of, first)
    newest = write(of, MOVED)
    layout, dropped = mapped(tmp_path, of)
    assert dropped == []
    assert place(layout, mounted=False) == newest


def test_the_order_of_blocks_is_told_if_nothing_was_moved(tmp_path: Path) -> None:
    of = files()
    write(of, MOVED)
    next_block(of)
    write(of, MOVED, 1)
    opened = KernelState(mapped(tmp_path, of)[0]).first_open(MOVED)
    assert (opened.ordered, opened.counted) == (True, True)


def test_the_order_of_blocks_is_not_told_if_a_version_is_nowhere(tmp_path: Path) -> None:
    """N is, for no block ends with the page of the newest node's header."""
    of = files()
    of.versions[MOVED] = 1
    write(of, MOVED)
    write(of, OTHER)
    write(of, MOVED, 1)
    next_block(of)
    for n in range(3):
        write(of, OTHER, n)
    write(of, MOVED, 2)
    layout = mapped(tmp_path, of)[0]
    opened = KernelState(layout).first_open(MOVED)
    assert not opened.ordered
    assert KernelState(layout, mounted=True).first_open(MOVED).ordered


def test_n_of_a_first_open_is_not_told_if_the_last_page_may_be_the_newest_nodes(
    tmp_path: Path,
) -> None:
    of = files()
    of.versions[MOVED] = 1
    write(of, MOVED)
    next_block(of)
    write(of, OTHER)  # a read of a whole page would go past the buffer
    write(of, MOVED, 1)
    layout = mapped(tmp_path, of)[0]
    assert not KernelState(layout).first_open(MOVED).counted
    assert KernelState(layout, mounted=True).first_open(MOVED).counted


def test_a_node_past_a_smaller_erase_block_asks_for_the_chips(tmp_path: Path) -> None:
    of = files()
    for page in range(9):
        write(of, MOVED, page)
    dump = as_file(tmp_path / "dump", of.dump())
    half = SHAPE._replace(erase_block=SHAPE.erase_block // 2)
    with pytest.raises(UsageError, match="give --erase-block"):
        read_flash_file_layout(dump, FlashFileOptions(None, None, half))
    _, dropped = read_flash_file_layout(dump, FlashFileOptions(None, None, SHAPE))
    assert dropped == []
