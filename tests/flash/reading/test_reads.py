# SPDX-License-Identifier: GPL-2.0-or-later
"""The flash pages of a read are those that a hand works out, through the core's one buffer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nandlab.base.errors import UsageError
from nandlab.flash.layouts.jffs2nodes import DroppedNode
from nandlab.flash.layouts.layout import FilePiece, Layout
from nandlab.flash.reading import reads
from nandlab.flash.reading.fragments import PageSet, foretell_read_calls, map_file_pages
from nandlab.flash.reading.reads import FilePieces, MtdRead, PageBuffer

FILE, PAGE = 5, 2048


def layout(*pieces: FilePiece, size: int = 8192, filesystem: str = "jffs2") -> Layout:
    of = {FILE: "/a"}, {FILE: size}
    return Layout(filesystem, 1 << 20, 1 << 17, PAGE, [], *of, list(pieces), {})


def piece(offset: int, count: int, at: int, stored: int = 0, skip: int = 0) -> FilePiece:
    stored = stored or count
    return FilePiece(FILE, offset, count, at, stored, skip, "", stored)


def pages(buffer: PageBuffer, *asked: tuple[int, int]) -> list[tuple[int, bool]]:
    return [(a.page, a.hit) for read in asked for a in buffer.read(MtdRead(*read))]


def test_a_part_stays_in_the_buffer_and_a_whole_page_goes_past_it() -> None:
    buffer = PageBuffer(PAGE)
    assert pages(buffer, (100, 68), (168, 10)) == [(0, False), (0, True)]
    # page 1 whole, past the buffer; page 0 is still there
    assert pages(buffer, (2048, 2048), (2048, 4), (0, 8)) == [(1, False), (1, False), (0, False)]
    # a whole page that is in the buffer is copied from it
    assert pages(buffer, (0, 2048), (2048, 2048)) == [(0, True), (1, False)]
    assert buffer.page == 0


def test_a_program_or_an_erase_empties_the_buffer() -> None:
    buffer = PageBuffer(PAGE, 7)
    buffer.forget(8, 9)
    assert buffer.page == 7
    buffer.forget(0, 63)
    assert buffer.page is None


def test_a_node_is_read_as_header_and_data_and_state_carries_over() -> None:
    # nodes of 4096 bytes one after the other: 68 + 4096
    of = layout(piece(0, 4096, 68), piece(4096, 4096, 4164 + 68))
    first, second = foretell_read_calls(of, FilePieces(of, FILE), [0, 1])
    # data: the rest of page 0 from the buffer, page 1 whole, the begin of page 2
    assert (first.flash, first.hits) == ([0, 1, 2], 1)
    # header and the first data are in page 2, which the call before left in the buffer
    assert (second.flash, second.hits) == ([3, 4], 2)
    alone = list(foretell_read_calls(of, FilePieces(of, FILE), [0, 1], carry=False))
    assert [len(c.flash) for c in alone] == [3, 3]


def test_all_of_a_node_is_read_though_a_part_of_it_lives() -> None:
    of = layout(piece(0, 100, 68, stored=4096), piece(100, 1000, 8192 + 68), size=1100)
    (call,) = foretell_read_calls(of, FilePieces(of, FILE), [0])
    assert call.flash == [0, 1, 2, 4]
    assert sum(a.bytes for a in call.accesses) == 68 + 4096 + 68 + 1000


def test_a_hole_reads_nothing() -> None:
    of = layout(piece(4096, 4096, 68))
    hole, stored = foretell_read_calls(of, FilePieces(of, FILE), [0, 1])
    assert hole.flash == []
    assert stored.flash == [0, 1, 2]


def test_the_map_knows_what_it_does_not_know() -> None:
    of = layout(piece(0, 4096, 68), piece(4096, 4096, 4164 + 68))
    lost = DroppedNode(0, 100, "torn", "inode", FILE, 4000, 50)
    found = map_file_pages(of, FILE, [lost])
    assert [r.is_known for r in found.rows] == [False, True]
    lost = DroppedNode(0, 100, "torn", "inode", FILE, 4000, 100)
    assert [r.is_known for r in map_file_pages(of, FILE, [lost]).rows] == [False, False]
    of_another = DroppedNode(0, 100, "torn", "inode", FILE + 1, 0, 8192)
    assert all(r.is_known for r in map_file_pages(of, FILE, [of_another]).rows)
    assert all(
        r.is_known for r in map_file_pages(of, FILE, [DroppedNode(0, 40, "torn", "dirent")]).rows
    )
    assert not any(
        r.is_known for r in map_file_pages(of, FILE, [DroppedNode(0, 4, "not a node", "")]).rows
    )


def test_of_a_file_that_is_mostly_holes_the_data_is_told() -> None:
    """A size of 2^50 may be a damaged node's, or a sparse file's: neither takes memory for it."""
    far = 1 << 49
    of = layout(piece(0, 100, 68), piece(far, 8192, 4096), size=1 << 50)
    lost = DroppedNode(0, 100, "torn", "inode", FILE, 1 << 30, far)
    found = map_file_pages(of, FILE, [lost])
    page = far // 4096
    assert [(r.page, r.is_known) for r in found.rows] == [
        (0, True),
        (page, False),
        (page + 1, False),
    ]
    assert [r.n_in_sequence for r in found.rows] == [1, None, None]
    assert found.unknown == far // 4096
    known = map_file_pages(of, FILE)
    assert [r.n_in_sequence for r in known.rows] == [1, None, 4]  # after a hole that is not listed
    assert known.unknown == 0
    small = layout(piece(0, 100, 68), size=4096 * 4096)
    assert len(map_file_pages(small, FILE).rows) == 4096


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=9))
def test_stretches_of_pages_are_the_pages_in_them(ends: list[tuple[int, int]]) -> None:
    stretches = [range(*pair) for pair in ends]
    every = {page for each in stretches for page in each}
    found = PageSet.from_stretches(stretches)
    assert {page for page in range(-1, 70) if page in found} == every
    assert len(found) == len(every)


def test_a_file_written_in_order_gains_nothing_from_being_rewritten() -> None:
    step = 4096 + 68
    of = layout(*(piece(i * 4096, 4096, i * step + 68) for i in range(16)), size=16 * 4096)
    found = map_file_pages(of, FILE)
    assert found.mean == found.rewritten
    assert found.live_bytes == 16 * step


@given(
    st.lists(st.tuples(st.integers(0, 10**5), st.integers(1, 5000)), max_size=30),
    st.sampled_from([512, 2048, 4096]),
)
def test_the_buffer_gives_every_byte_once_and_hits_only_what_it_holds(
    asked: list[tuple[int, int]], writesize: int
) -> None:
    buffer = PageBuffer(writesize)
    for at, count in asked:
        held = buffer.page
        found = list(buffer.read(MtdRead(at, count)))
        assert sum(a.bytes for a in found) == count
        assert [a.page for a in found] == list(
            range(at // writesize, (at + count - 1) // writesize + 1)
        )
        for a in found:
            assert a.hit == (a.page == held)
            if not a.hit and a.bytes < writesize:
                held = a.page
        assert buffer.page == held


def test_a_read_with_the_spare_area_always_goes_to_the_chip() -> None:
    buffer = PageBuffer(PAGE, 3)
    (access,) = buffer.read(MtdRead(3 * PAGE, PAGE, spare=True))
    assert (access.hit, access.bypasses_buffer, buffer.page) == (False, True, 3)


def test_what_is_not_modelled_is_refused() -> None:
    of = layout(filesystem="nftl-fat32")
    with pytest.raises(UsageError, match="is not modelled"):
        map_file_pages(of, FILE)
    with pytest.raises(UsageError, match=r"/b: no such file .*there are /a"):
        reads.find_inode_number(layout(), "b")
