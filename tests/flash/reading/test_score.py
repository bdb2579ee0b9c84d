# SPDX-License-Identifier: GPL-2.0-or-later
"""Traced calls beside what a chip has, of events that are written here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb

from nandlab.catalog.chip import ChipModel
from nandlab.catalog.files import load_noun
from nandlab.flash.layouts.jffs2nodes import DroppedNode
from nandlab.flash.layouts.layout import ByteKind, Extent, FilePiece, Layout
from nandlab.flash.reading import walk
from nandlab.flash.reading.score import _format_pages

FILE, FLASH, HEADER = 2, 2048, 68
COLUMNS = ("seq", "parent", "event", "start_ns", "latency_ns", "pid", "object", "offset", "size")
BOARD = {"kernel": "6.1.0", "accel": "tcg", "board": {"icount_shift": 2}}


def table(path: Path, rows: Sequence[tuple[int | str, ...]]) -> Path:
    """A trace's table with these rows of COLUMNS."""
    con = duckdb.connect()
    kinds = ", ".join(f'"{c}" {"varchar" if c == "event" else "bigint"}' for c in COLUMNS)
    con.execute(f"create table events ({kinds}, path varchar default '')")
    names = ", ".join(f'"{c}"' for c in COLUMNS)
    con.executemany(f"insert into events ({names}) values ({', '.join('?' * len(COLUMNS))})", rows)
    con.execute(f"copy events to '{path}' (format parquet)")
    return path


def call(seq: int, page: int, *reads: tuple[int, int]) -> list[tuple[int | str, ...]]:
    """A call that reads a page of the file by reads of MTD, each of one flash page or a hit."""
    begin, end = 1_000_000 * seq, 300_000
    rows: list[tuple[int | str, ...]] = [
        (seq, 0, walk.READ_PAGE, begin, end, 1, FILE, page * 4096, 4096)
    ]
    at, held = seq, -1
    for offset, size in reads:
        at += 1
        rows.append((at, seq, "MTD_READ", begin + 1000 * at, 900, 1, 0, offset, size))
        if offset // FLASH != held:
            held = offset // FLASH
            rows.append((at + 100, at, "FLASH_READ", begin + 1000 * at + 9, 80, 1, held, 0, FLASH))
    return rows


def node(page: int, at: int) -> FilePiece:
    return FilePiece(FILE, 4096 * page, 4096, at + HEADER, 1000, 0, "lzo", 4096)


def traced(path: Path, *rows: tuple[int | str, ...], lost: int | None = None) -> walk.ChipTrace:
    """lost: a page of the file of which a node could not be read."""
    pieces = [node(page, FLASH * page) for page in range(3)]
    extents = [
        Extent(0, 3 * FLASH, ByteKind.USER, "data", FILE),
        Extent(3 * FLASH, (1 << 20) - 3 * FLASH, ByteKind.FREE, "erased", 0),
    ]
    own = {FILE: "/a"}, {FILE: 3 * 4096}
    layout = Layout("jffs2", 1 << 20, 1 << 17, FLASH, extents, *own, pieces, {})
    chip = load_noun("chips", "apf27", ChipModel)
    dropped = [] if lost is None else [DroppedNode(0, 9, "", "inode", FILE, lost * 4096, 4096)]
    return walk.ChipTrace("t", "jffs2", chip, BOARD, table(path, rows), layout, dropped)


def reads_of(place: int) -> tuple[tuple[int, int], tuple[int, int]]:
    return (FLASH * place, HEADER), (FLASH * place + HEADER, 1000)


def test_calls_as_foretold(tmp_path: Path) -> None:
    rows = [row for page in range(3) for row in call(1000 * (page + 1), page, *reads_of(page))]
    found = walk.score_traced_calls(traced(tmp_path / "e.parquet", *rows))
    assert [(c.traced_pages, c.same, c.is_known) for c in found] == [
        ([p], True, True) for p in range(3)
    ]


def test_a_page_that_is_read_where_nothing_is_written_was_in_the_write_buffer(
    tmp_path: Path,
) -> None:
    """The collector had moved the node there, and the chip has not got it yet."""
    moved = call(1000, 0, *reads_of(9))
    later = [*call(2000, 1, *reads_of(1)), *call(3000, 0, *reads_of(9)), *call(4000, 2)]
    of = traced(tmp_path / "e.parquet", *moved, *later)
    found = walk.score_traced_calls(of)
    assert [(c.traced_pages, c.is_known) for c in found] == [
        ([9], False),
        ([1], True),
        ([9], False),
        ([], True),
    ]
    assert [c.same for c in found if c.is_known] == [True, False]


def test_after_a_page_that_is_not_known_the_buffer_has_what_was_read(tmp_path: Path) -> None:
    """The first call read flash page 1 and left it in the buffer; so the second takes none."""
    second = [row for row in call(2000, 1, *reads_of(1)) if row[2] != "FLASH_READ"]
    rows = [*call(1000, 0, *reads_of(1)), *second, *call(3000, 2, *reads_of(2))]
    found = walk.score_traced_calls(traced(tmp_path / "e.parquet", *rows, lost=0))
    assert [(c.traced_pages, c.is_known) for c in found] == [([1], False), ([], True), ([2], True)]
    assert all(c.same for c in found[1:])


def test_one_page_in_the_register_makes_no_other_read_a_long_one(tmp_path: Path) -> None:
    """The chip reads a page again that its register has, and saves the array's time."""
    rows = [row for page in range(3) for row in call(1000 * (page + 1), page, *reads_of(page))]
    short = [
        (990, 0, "MTD_READ", 1_000_000 * 3000 - 9000, 900, 2, 0, FLASH, 64),
        (991, 990, "FLASH_READ", 1_000_000 * 3000 - 8000, 80, 2, 2, 0, FLASH),
        (992, 990, "FLASH_READ", 1_000_000 * 3000 - 7000, 10, 2, 2, 0, FLASH),
    ]
    slow = [(*row[:4], int(row[4]) + 900 * (row[2] == "FLASH_READ"), *row[5:]) for row in rows]
    for every, disturbed in ((rows, [False] * 3), (slow[:-3] + rows[-3:], [True, True, False])):
        traced_rows = sorted([*every, *short], key=lambda row: int(row[3]))
        found = walk.score_traced_calls(traced(tmp_path / "e.parquet", *traced_rows))
        assert [c.disturbed for c in found] == disturbed
        # the last call's page is still in the register, as in the trace
        assert [(c.registered, c.call.registered) for c in found] == [(0, 0), (0, 0), (1, 1)]


def test_a_read_of_the_spare_area_alone_is_of_another_kind() -> None:
    rows = [
        walk.EventRow(seq, 0, event, seq, ns, 1, page, 0, size)
        for seq, event, ns, page, size in (
            (1, "FLASH_READ", 80, 5, FLASH),
            (2, "FLASH_READ", 30, 6, 0),
            (3, "FLASH_READ", 55, 6, FLASH),
            (4, "FLASH_PROGRAM", 200, 7, FLASH),
            (5, "FLASH_READ", 81, 6, FLASH),
        )
    ]
    kinds = walk._sort_chip_reads(rows)
    assert kinds == {1: (FLASH, False), 2: (0, False), 3: (FLASH, True), 5: (FLASH, False)}
    assert walk._find_late_ns(rows, kinds, 9) == {
        (FLASH, False): 89,
        (0, False): 39,
        (FLASH, True): 64,
    }


def test_of_a_call_of_many_pages_the_first_are_told() -> None:
    assert _format_pages([]) == "[]"
    assert _format_pages(range(5, 17)) == f"[{', '.join(map(str, range(5, 17)))}]"
    assert _format_pages(range(13)) == "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, ... 13 in all]"
