# SPDX-License-Identifier: GPL-2.0-or-later
"""The flash pages of a page of a file: fragments worked out by hand, and the buffer's rules."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nandlab.base.errors import UsageError
from nandlab.model.reads import Access, PageBuffer, Pieces, Read, call, owner_of
from nandlab.onflash.layout import HOLE, Layout, Piece

FLASH = 2048
HEADER = 68


def layout(*pieces: Piece, size: int = 8192) -> Layout:
    return Layout("jffs2", 1 << 20, 1 << 17, FLASH, [], {2: "/a"}, {2: size}, list(pieces), {})


def piece(offset: int, count: int, at: int, *, stored: int = -1, packing: str = "") -> Piece:
    whole = count if stored < 0 else stored
    return Piece(2, offset, count, at, whole, 0, packing, whole)


def pages(*accesses: Access) -> list[int]:
    return [a.page for a in accesses if not a.hit]


def test_header_and_data_are_two_reads_and_the_second_finds_the_buffer() -> None:
    one = layout(piece(0, 4096, 10 * FLASH + HEADER))
    found = call("jffs2", Pieces(one, 2), 0, PageBuffer(FLASH))
    assert [a.page for a in found.accesses] == [10, 10, 11, 12]
    assert (found.flash, found.hits) == ([10, 12 - 1, 12], 1)


def test_a_whole_page_is_read_past_the_buffer_and_leaves_it() -> None:
    buffer = PageBuffer(FLASH, 5)
    assert pages(*buffer.read(Read(7 * FLASH, FLASH))) == [7]
    assert buffer.page == 5
    assert pages(*buffer.read(Read(7 * FLASH, FLASH))) == [7]
    assert pages(*buffer.read(Read(5 * FLASH, FLASH))) == []


def test_two_nodes_that_share_a_page_read_it_once() -> None:
    half = 2048
    start = 12 * FLASH + 500
    second = start + HEADER + half + HEADER
    two = layout(piece(0, half, start + HEADER), piece(half, half, second))
    found = call("jffs2", Pieces(two, 2), 0, PageBuffer(FLASH))
    assert found.flash == [12, 13, 14]


def test_the_buffer_carries_over_from_one_call_to_the_next() -> None:
    at, buffer = 10 * FLASH + HEADER, PageBuffer(FLASH)
    two = Pieces(layout(piece(0, 4096, at), piece(4096, 4096, at + 4096 + HEADER)), 2)
    assert call("jffs2", two, 0, buffer).flash == [10, 11, 12]
    assert call("jffs2", two, 1, buffer).flash == [13, 14]
    assert call("jffs2", two, 1, PageBuffer(FLASH)).flash == [12, 13, 14]


def test_all_of_a_node_is_read_however_little_of_it_is_live() -> None:
    little = layout(piece(100, 50, 3 * FLASH + HEADER, stored=4096))
    assert call("jffs2", Pieces(little, 2), 0, PageBuffer(FLASH)).flash == [3, 4, 5]


def test_a_node_of_zeroes_has_a_header_alone_and_a_gap_has_nothing() -> None:
    hole = layout(piece(0, 4096, 3 * FLASH + HEADER, stored=0, packing=HOLE))
    assert call("jffs2", Pieces(hole, 2), 0, PageBuffer(FLASH)).flash == [3]
    assert call("jffs2", Pieces(hole, 2), 1, PageBuffer(FLASH)).flash == []


def test_a_program_or_an_erase_of_the_page_empties_the_buffer() -> None:
    buffer = PageBuffer(FLASH, 70)
    buffer.forget(64, 69)
    assert buffer.page == 70
    buffer.forget(64, 127)
    assert buffer.page is None


def test_a_page_that_two_pieces_share_has_both_in_order() -> None:
    of = Pieces(layout(piece(4000, 200, 9000), piece(0, 4000, 100), size=4200), 2)
    assert [p.offset for p in of.of(0)] == [0, 4000]
    assert [p.offset for p in of.of(1)] == [4000]
    assert of.pages == 2


def test_a_path_or_a_file_system_that_is_not_there_is_told() -> None:
    one = layout()
    assert owner_of(one, "a") == owner_of(one, "/a") == 2
    with pytest.raises(UsageError, match="/b: no such file in the image; there are /a"):
        owner_of(one, "b")
    with pytest.raises(UsageError, match="nftl-fat32: how it reads is not modelled"):
        call("nftl-fat32", Pieces(one, 2), 0, PageBuffer(FLASH))


@given(
    st.lists(
        st.tuples(st.integers(0, 20 * FLASH), st.integers(0, 3 * FLASH)).map(lambda r: Read(*r))
    )
)
def test_the_buffer_misses_what_it_does_not_hold_and_covers_all_that_is_asked(
    asked: list[Read],
) -> None:
    buffer, held = PageBuffer(FLASH), None
    for read in asked:
        found = list(buffer.read(read))
        last = read.at + read.bytes - 1
        wanted = range(read.at // FLASH, last // FLASH + 1) if read.bytes else range(0)
        assert [a.page for a in found] == list(wanted)
        for a in found:
            whole = read.at <= a.page * FLASH and (a.page + 1) * FLASH <= last + 1
            assert a.hit == (a.page == held)
            held = held if whole or a.hit else a.page
        assert buffer.page == held
