# SPDX-License-Identifier: GPL-2.0-or-later
"""UBIFS's reads: down the index, whose nodes stay in memory."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nandlab.base.errors import UsageError
from nandlab.flash.layouts.index import Branch, Index, IndexEntry, IndexNode
from nandlab.flash.layouts.layout import FilePiece, Layout
from nandlab.flash.layouts.ubifsnodes import (
    DATA_KEY,
    INODE_KEY,
    NAME_KEY,
    ROOT_INODE,
    make_leaf_node_key,
)
from nandlab.flash.reading import packers, rewrite, times, tokencount
from nandlab.flash.reading.fragments import foretell_read_calls
from nandlab.flash.reading.kernelstate import KernelState
from nandlab.flash.reading.reads import FilePieces, MtdRead
from nandlab.flash.reading.ubifs import UbifsReader

FILE, FLASH, PAGE = 65, 2048, 4096
NAME, INODE = 50 * FLASH, 51 * FLASH
LOW, HIGH, TOP = 60 * FLASH, 61 * FLASH, 62 * FLASH
DATA = {0: 0, 1: 4 * FLASH, 3: 8 * FLASH}
"""Page of the file -> first byte of its node; page 2 is a hole."""


def layout() -> Layout:
    """A file of four pages under an index of two levels."""
    name = make_leaf_node_key(ROOT_INODE, NAME_KEY, 7)
    data = {
        page: Branch(make_leaf_node_key(FILE, DATA_KEY, page), at, 4144)
        for page, at in DATA.items()
    }
    low = (Branch(name, NAME, 60), Branch(make_leaf_node_key(FILE, INODE_KEY), INODE, 160), data[0])
    high = (data[1], data[3])
    nodes = {
        LOW: IndexNode(LOW, 88, 0, low),
        HIGH: IndexNode(HIGH, 68, 0, high),
        TOP: IndexNode(TOP, 68, 1, (Branch(name, LOW, 88), Branch(data[1].key, HIGH, 68))),
    }
    index = Index(TOP, nodes, {NAME: IndexEntry(name, NAME, ROOT_INODE, FILE)})
    pieces = [FilePiece(FILE, p * PAGE, PAGE, at + 48, PAGE, 0, "", PAGE) for p, at in DATA.items()]
    of = {FILE: "/a"}, {FILE: 4 * PAGE}
    return Layout("ubifs", 1 << 20, 1 << 17, FLASH, [], *of, pieces, {}, index=index)


def flash(state: KernelState, page: int) -> list[int]:
    return state.read(FilePieces(state.reader.layout, FILE), page).flash


def test_a_page_is_found_through_the_index_nodes_that_are_not_in_memory() -> None:
    state = KernelState(layout())
    assert flash(state, 0) == [62, 60, 0, 1, 2]
    assert flash(state, 1) == [61, 4, 5, 6]
    assert flash(state, 1) == [4, 5]  # page 6 is in the NAND core's buffer, but not for long
    assert flash(state, 0) == [0, 1, 2]


def test_a_hole_is_looked_up_and_what_is_past_the_end_is_not() -> None:
    state = KernelState(layout())
    assert flash(state, 2) == [62, 61]
    assert flash(KernelState(layout()), 4) == []


def test_a_first_open_reads_the_name_and_the_inode() -> None:
    state = KernelState(layout())
    assert state.first_open(FILE, ROOT_INODE).flash == [62, 60, 50, 51]
    assert state.first_open(FILE, ROOT_INODE).flash == []  # the inode's page is in the buffer
    assert state.reader.opened([MtdRead(NAME, 60), MtdRead(INODE, 160)]) == FILE
    assert state.reader.opened([MtdRead(NAME, 60)]) is None


def test_what_a_call_and_an_open_do() -> None:
    state = KernelState(layout())
    opened = times.count_first_open_work(state.first_open(FILE, ROOT_INODE))
    assert opened == {
        "open": 1, "open_node": 2, "read": 4, "hit": 0, "index": 2, "branch": 2 + 3,
        "copied": 68 + 88 + 60 + 160,
    }  # fmt: skip
    found = times.count_read_call_work(state.read(FilePieces(state.reader.layout, FILE), 1))
    assert found == {
        "call": 1, "read": 4, "hit": 0, "index": 1, "branch": 2, "copied": 68 + 48,
        "node": 1, "part_byte": PAGE, "zero": 0,
    }  # fmt: skip


def test_a_name_that_is_in_memory_is_no_node_that_an_open_reads() -> None:
    state = KernelState(layout())
    state.note_read(MtdRead(NAME, 60))
    assert times.count_first_open_work(state.first_open(FILE, ROOT_INODE))["open_node"] == 1


def test_a_short_node_is_unpacked_with_room_for_a_page() -> None:
    plain = b"".join(b"%d " % n for n in range(300))
    packed = packers.pack_for_ubifs(plain, "zlib").data
    piece = FilePiece(FILE, 0, len(plain), 48, len(packed), 0, "zlib", len(plain))
    of = replace(layout(), pieces=[piece], read_data=lambda at, n: packed, unpack_room=PAGE)
    assert FilePieces(of, FILE).tokens(piece) == tokencount.count_node_tokens(
        "zlib", packed, len(plain), PAGE
    )
    assert FilePieces(of, FILE).tokens(piece) != tokencount.count_node_tokens(
        "zlib", packed, len(plain)
    )


def test_what_other_reads_load_is_in_memory() -> None:
    state = KernelState(layout())
    for at, count in ((TOP, 68), (HIGH, 68), (NAME, 60)):
        state.note_read(MtdRead(at, count))
    assert flash(state, 1) == [4, 5, 6]
    assert state.first_open(FILE).flash == [60, 51]


def test_a_node_that_is_read_again_was_dropped_with_all_below() -> None:
    state = KernelState(layout())
    flash(state, 0)
    flash(state, 1)
    state.note_read(MtdRead(TOP, 68))
    assert flash(state, 1) == [61, 4, 5, 6]
    state.reader.drop()
    assert flash(state, 1)[:2] == [62, 61]


def test_a_copy_does_not_learn_what_the_other_does() -> None:
    state = KernelState(layout())
    other = state.copy()
    flash(state, 0)
    assert flash(other, 0) == [62, 60, 0, 1, 2]


def test_a_trace_that_begins_with_an_index_in_memory_is_refused() -> None:
    reader = UbifsReader(layout(), {}, mounted=False)
    reader.begun([MtdRead(90 * FLASH, 64), MtdRead(TOP, 68), MtdRead(LOW, 88)])
    reader.begun([])
    with pytest.raises(UsageError, match="in memory when the trace began"):
        reader.begun([MtdRead(DATA[0], 4144), MtdRead(TOP, 68)])


def in_a_row(gaps: tuple[int, ...] = (), pages: int = 40) -> KernelState:
    """A file in nodes that lie one after the other, read with bulk-read; gaps: pages before which
    they do not."""
    at, pieces = 0, []
    for page in range(pages):
        at += FLASH * (page in gaps)
        pieces.append(FilePiece(FILE, page * PAGE, PAGE, at + 48, PAGE, 0, "", PAGE))
        at += 48 + PAGE
    of = replace(layout(), pieces=pieces, nodes={FILE: []}, sizes={FILE: pages * PAGE})
    return KernelState(UbifsReader.completed(of), {"bulk_read": "on"})


def data_bytes(state: KernelState, page: int) -> list[int]:
    """Of each read that is none of the index."""
    assert state.reader.layout.index is not None
    index = state.reader.layout.index.nodes
    file = FilePieces(state.reader.layout, FILE)
    return [read.bytes for read in state.reader.page(file, page) if read.at not in index]


def test_the_third_page_in_a_row_is_read_with_those_that_lie_behind_it() -> None:
    node = 48 + PAGE
    state = in_a_row()
    assert [data_bytes(state, page) for page in (0, 1, 2)] == [[node], [node], [32 * node]]
    assert data_bytes(state, 34) == [6 * node]  # 3 to 33 are in the page cache; this is the end
    state = in_a_row(gaps=(7,))
    assert [data_bytes(state, page) for page in (0, 1, 2)] == [[node], [node], [5 * node]]
    assert data_bytes(state, 9) == [node]  # not in a row
    assert [data_bytes(state, page) for page in (10, 11)] == [[node], [29 * node]]


def test_a_file_written_anew_has_an_index_with_full_nodes() -> None:
    pages = 20
    pieces = [
        FilePiece(FILE, p * PAGE, PAGE, p * 8192 + 48, PAGE, 0, "", PAGE) for p in range(pages)
    ]
    of = replace(layout(), pieces=pieces, sizes={FILE: pages * PAGE})
    anew = rewrite.lay_file_out_alone(of, FILE)
    state = KernelState(anew.layout)
    opened = state.first_open(FILE)
    told = list(foretell_read_calls(anew.layout, anew, range(pages), state))
    # three index nodes of level 0 over 22 leaves: the first holds a name, an inode, six pages
    assert [c.page for c in told if len(c.accesses) > 3] == [6, 14]
    assert len(opened.flash) == 1  # index, name and inode lie in one page
    assert [len(c.flash) for c in told[:3]] == [3, 2, 2]
