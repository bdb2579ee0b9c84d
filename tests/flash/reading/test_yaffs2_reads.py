# SPDX-License-Identifier: GPL-2.0-or-later
"""YAFFS2's reads: a page of the flash a chunk, and the cache of those that are read in part."""

from __future__ import annotations

import pytest

from nandlab.flash.layouts.layout import FilePiece, Layout
from nandlab.flash.reading.kernelstate import KernelState
from nandlab.flash.reading.reads import FilePieces

FILE = 257


def state(chunk: int, writesize: int, size: int, *stored: int, **options: str) -> KernelState:
    """A file whose chunks with these numbers are stored, in reverse order, from page 100 down."""
    pieces = [
        FilePiece(FILE, n * chunk, count, (100 - n) * writesize, count, 0, "", count)
        for n in stored
        if (count := min(chunk, size - n * chunk))
    ]
    of = {FILE: "/a"}, {FILE: size}
    shape = 1 << 20, 1 << 17, writesize
    return KernelState(Layout("yaffs2", *shape, [], *of, pieces, {}, chunk_bytes=chunk), options)


def flash(of: KernelState, page: int) -> list[int]:
    return of.read(FilePieces(of.reader.layout, FILE), page).flash


@pytest.mark.parametrize(
    ("chunk", "told"),
    [(2048, [100, 99]), (512, list(range(100, 92, -1))), (4096, [100])],
)
def test_a_page_is_as_many_chunks_as_it_has(chunk: int, told: list[int]) -> None:
    of = state(chunk, chunk, 4096, *range(4096 // chunk))
    assert flash(of, 0) == told
    assert flash(of, 0) == told  # nothing is kept


def test_holes_and_what_is_past_the_end_are_no_reads() -> None:
    of = state(2048, 2048, 9000, 0, 3, 4)
    assert flash(of, 0) == [100]
    assert flash(of, 1) == [97]
    assert flash(of, 2) == [96]  # the tail: 808 bytes


def test_a_chunk_larger_than_a_page_is_read_once() -> None:
    of = state(8192, 8192, 16384, 0, 1)
    assert [flash(of, page) for page in range(4)] == [[100], [], [99], []]


def test_inband_tags_make_a_page_of_three_chunks_and_all_go_through_the_cache() -> None:
    size = 40 * 2032
    of = state(2032, 2048, size, *range(40))
    assert flash(of, 0) == [100, 99, 98]
    assert flash(of, 1) == [97, 96]  # chunk 2 is in the cache
    for page in range(2, 8):
        flash(of, page)
    assert flash(of, 1) == [98, 97, 96]  # ten others have come since


def test_without_the_cache_a_page_of_the_flash_is_read_for_each_part_of_it() -> None:
    of = state(8192, 8192, 8192, 0, cache="off")
    assert [flash(of, page) for page in (0, 1)] == [[100], [100]]


def test_the_end_that_a_write_went_past_may_be_in_memory() -> None:
    pieces = [
        FilePiece(FILE, 0, 2048, 0, 2048, 0, "", 2048),
        FilePiece(FILE, 2048, 900, 2048, 900, 0, "", 900),
    ]
    for size, sure in ((2948, True), (20000, False)):
        of = Layout(
            "yaffs2",
            1 << 20,
            1 << 17,
            2048,
            [],
            {FILE: "/a"},
            {FILE: size},
            pieces,
            {},
            chunk_bytes=2048,
        )
        assert KernelState(of).reader.sure(FilePieces(of, FILE), 0) == sure
        assert KernelState(of, mounted=True).reader.sure(FilePieces(of, FILE), 0)
