# SPDX-License-Identifier: GPL-2.0-or-later
"""SQLite's loads: the host's oracle of them, and cuts of them on the board."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from cutsteps import on

from nandlab.base.errors import UsageError
from nandlab.base.paths import DEVICE
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.powercut import campaign, hostcheck, sql
from nandlab.powercut.campaign import Campaign
from nandlab.powercut.job import CutPoints, select_single_cut_point

LOADS = sql.make_sql_loads()
FIRST = LOADS.loads[0]
MARKS = "\n".join(f"{10 * i + end} {2 * (3 + i) + end}" for i in range(9) for end in (0, 1))
"""Each line of the load begins with ten times its number of operations, and returns one later."""


def files(tmp_path: Path, lines: int) -> dict[str, bytes | None]:
    """The database after so many lines of the load."""
    path = tmp_path / sql.DATABASE
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for line in [*LOADS.base, *FIRST.calls[:lines]]:
            db.executescript(line)
    return {sql.DATABASE: path.read_bytes()}


def test_the_oracle_takes_what_was_acknowledged_or_had_begun(tmp_path: Path) -> None:
    oracle = sql.SqlOracle(LOADS, FIRST, MARKS)
    # lines 0 and 1 are PRAGMAs; at 35 operations line 3 has returned, at 40 line 4 has begun
    for lines, operations, in_next in [(4, 35, False), (4, 40, True), (5, 40, True)]:
        assert oracle.list_violations(files(tmp_path, lines), operations, in_next=in_next) == []
    for lines, operations in [(3, 35), (5, 35), (6, 41)]:
        wrong = oracle.list_violations(files(tmp_path, lines), operations, in_next=False)
        assert len(wrong) == 1 and "is as after no line" in wrong[0]


def test_the_oracle_tells_a_database_that_is_damaged(tmp_path: Path) -> None:
    oracle = sql.SqlOracle(LOADS, FIRST, MARKS)
    whole = files(tmp_path, 4)[sql.DATABASE] or b""
    torn = {sql.DATABASE: whole[:4096] + bytes(4096) + whole[8192:]}
    (told,) = oracle.list_violations(torn, 35, in_next=True)
    assert told.startswith(("integrity_check: ", "SQLite: "))
    assert oracle.list_violations({}, 35, in_next=False) == ["no database"]


def test_a_file_of_sql_is_read(tmp_path: Path) -> None:
    made = sql.parse_sql_loads(
        "mine.sql", "CREATE TABLE t (a)\n# none\nload one\n\nINSERT INTO t VALUES (1)\n"
    )
    assert made.base == ("CREATE TABLE t (a)",)
    assert made.loads[0].calls == ("INSERT INTO t VALUES (1)",)
    with pytest.raises(UsageError, match="no load in it"):
        sql.parse_sql_loads("mine.sql", "CREATE TABLE t (a)\n")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("INSERT INTO u VALUES (1)", "no such table: u"),
        ("INSRT INTO t VALUES (1)", 'near "INSRT": syntax error'),
        ("INSERT INTO t VALUES (2); ROLLBACK", "no transaction is active"),
        ("BEGIN; INSERT INTO t VALUES (2)", "a transaction is open at its end"),
        ("ATTACH 'other.db' AS other", "not authorized"),
        ("VACUUM INTO 'other.db'", "authorization denied"),
        ("load one", "two loads of one title: one"),
        (f"INSERT INTO t VALUES ('{'a' * 8192}')", "more than 8,190 bytes"),
    ],
)
def test_a_line_that_sqlite_does_not_take_is_refused(
    line: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = f"CREATE TABLE t (a)\nload one\nINSERT INTO t VALUES (1)\nload two\n\n{line}\n"
    with pytest.raises(UsageError, match=rf"^mine.sql:6: .*{why}"):
        sql.parse_sql_loads("mine.sql", text)
    assert list(tmp_path.iterdir()) == []


def test_lines_of_all_modes_are_taken() -> None:
    """Each load begins with the base alone; a VACUUM attaches a database without a name."""
    assert sql.parse_sql_loads(sql.SET_NAME, LOADS.text()).loads == LOADS.loads
    tabs = sql.parse_sql_loads("t.sql", "CREATE TABLE t (a)\nload one\nINSERT INTO t\tVALUES (1)\n")
    assert tabs.loads[0].calls == ("INSERT INTO t\tVALUES (1)",)


def test_the_longest_line_is_that_of_the_boards_program() -> None:
    text = (DEVICE / "programs" / "sqlcut" / "load.c").read_text()
    assert f"LINE_MAX_BYTES {sql.LINE_BYTES_MAX + 2}\n" in text


@pytest.mark.board
def test_no_acknowledged_commit_is_lost_but_by_an_unlink_that_is_not_synced(
    board: QemuBoard,
) -> None:
    """SQLite's "full" does not sync the folder after it deletes the journal; "extra" does. So on
    UBIFS, whose unlink waits in a buffer, a commit may be rolled back."""
    medium = on(board, "ubifs")
    plain = medium.filesystem.resolve_values(
        {"compression": "none"}, "the test"
    )  # for the host to read
    medium = medium.model_copy(update={"options": plain})
    points = CutPoints(variants=("before",), every=3, last_load=1)
    one = Campaign(medium, LOADS, points)
    full, extra = asyncio.run(campaign.run_piece(one, points, board))
    assert [each.name for each in full.findings] == ["lost"]
    assert (extra.findings, extra.points > 10) == ([], True)
    lie = replace(points, first_load=1, every=9, plant=("--plant-lying-sync",))
    (lied,) = asyncio.run(campaign.run_piece(one, lie, board))
    assert [each.name for each in lied.findings] == ["lost"]
    k = full.findings[0].point.operation
    verdicts = asyncio.run(
        hostcheck.try_point(one, select_single_cut_point(points, 0, k, "before", 1), board)
    )
    assert (verdicts.board_holds, bool(verdicts.host_mistakes), verdicts.unread) == (
        False,
        True,
        "",
    )
