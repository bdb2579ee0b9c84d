# SPDX-License-Identifier: GPL-2.0-or-later
"""Readers of a real board's traces: what is written is read, and all else is one line."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from support import boardmade as made

from nandlab.base.errors import UsageError
from nandlab.traced import boardtraces
from nandlab.traced.boardtraces import FFS_TRACER, FLASHMON, SYSCALLS, FlashStart, TraceForm

FORMS = (SYSCALLS, FFS_TRACER, FLASHMON)
GOOD = {
    "syscalls": made.syscalls([made.opened(), made.read(0, 100), made.written(4096, 8)]),
    "ffs_tracer": made.functions([[10, 12], [5]]),
    "flashmon": ["0.5;R;7;a task", "0.5;E;3;gc", "0.75;W;8;a task"],
}
quick = settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])


def put(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "run.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_each_kind_is_read(tmp_path: Path) -> None:
    text = "\n".join(GOOD["syscalls"])
    calls = boardtraces.read_board_trace_file(put(tmp_path, text), SYSCALLS).rows
    assert [(c.call, c.offset, c.size, c.file) for c in calls] == [
        ("open", 0, 0, made.FILE),
        ("read", 0, 100, made.FILE),
        ("write", 4096, 8, made.FILE),
    ]
    functions = boardtraces.read_board_trace_file(
        put(tmp_path, "\n".join(GOOD["ffs_tracer"])), FFS_TRACER
    ).rows
    steps = [round((f.end_s - f.start_s) / boardtraces.STEP_S) for f in functions]
    assert steps == [10, 12, 5]
    assert {f.function for f in functions} == {"jffs2_readpage"}
    assert boardtraces.read_board_trace_file(
        put(tmp_path, "\r\n".join(GOOD["flashmon"])), FLASHMON
    ).rows == (
        FlashStart(0.5, "R", 7, "a task"),
        FlashStart(0.5, "E", 3, "gc"),
        FlashStart(0.75, "W", 8, "a task"),
    )


@pytest.mark.parametrize(
    ("kind", "row", "why"),
    [
        ("syscalls", "1;read;3;0;a.db;0.1", "6 columns where 7"),
        ("syscalls", "1;read;3;0;;a.db;0.1", "a column is empty"),
        ("syscalls", "1,read,3,0,10,a.db,0.1", "1 columns where 5"),
        ("syscalls", "1;fsync;3;a.db;0.1", "'fsync' is none of open, read, write, close"),
        ("syscalls", "1;read;3;x;10;a.db;0.1", "'x' is no whole number"),
        ("syscalls", "1;read;3;-1;10;a.db;0.1", "'-1' is no whole number"),
        ("syscalls", "1;read;3;0;99999999999;a.db;0.1", "beyond any chip"),
        ("syscalls", "1;read;3;0;10;a.db;1e3", "'1e3' is no time"),
        ("ffs_tracer", "1;2;1;jffs2_readpage", "4 columns where 5"),
        ("ffs_tracer", "2;1;1;jffs2_readpage;7", "ends before it starts"),
        ("ffs_tracer", "nan;1;1;jffs2_readpage;7", "'nan' is no time"),
        ("flashmon", "1;R;7;a;b", "5 columns where 4"),
        ("flashmon", "1;X;7;a", "'X' is none of R, W, E"),
        ("flashmon", "1;R;7.5;a", "'7.5' is no whole number"),
        ("flashmon", "-1;R;7;a", "'-1' is no time"),
    ],
)
def test_a_wrong_row_is_told_with_its_line(kind: str, row: str, why: str, tmp_path: Path) -> None:
    (form,) = (cast("TraceForm[FlashStart]", f) for f in FORMS if f.folder == kind)
    rows = [*[r for r in GOOD[kind] if r.startswith("#")], row]
    with pytest.raises(UsageError) as told:
        boardtraces.read_board_trace_file(put(tmp_path, "\n".join(rows)), form)
    assert f"run.csv line {len(rows)}: " in str(told.value)
    assert why in str(told.value)
    assert form.columns in str(told.value)


@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.folder)
def test_times_that_go_backwards_are_refused(form: TraceForm[FlashStart], tmp_path: Path) -> None:
    rows = [r for r in GOOD[form.folder] if not r.startswith("#")]
    text = "\n".join([rows[-1], rows[0]])
    with pytest.raises(UsageError, match="line 2: the time is before"):
        boardtraces.read_board_trace_file(put(tmp_path, text), form)


@pytest.mark.parametrize("text", [b"", b"\n\n", b"#<time>;<call>\n"])
def test_a_file_without_a_row_is_refused(text: bytes, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no row"):
        boardtraces.read_board_trace_file(put(tmp_path, text), SYSCALLS)


def test_runs_come_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    folder = made.write(tmp_path / "load", *([GOOD[f.folder]] * 11 for f in FORMS))
    (load,) = boardtraces.read_board_traces_of_loads(folder)
    assert [run.name for run in load.flash] == [f"made_{i}.csv" for i in range(1, 12)]
    (same,) = boardtraces.read_board_traces_of_loads(tmp_path)
    assert same == load


def test_a_folder_that_lacks_something_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such folder"):
        boardtraces.read_board_traces_of_loads(tmp_path / "none")
    with pytest.raises(UsageError, match="no board's traces"):
        boardtraces.read_board_traces_of_loads(tmp_path)
    (tmp_path / "syscalls").mkdir()
    with pytest.raises(UsageError, match="no CSV file"):
        boardtraces.read_board_traces_of_loads(tmp_path)
    put(tmp_path / "syscalls", "\n".join(GOOD["syscalls"]))
    with pytest.raises(UsageError, match="no folder ffs_tracer"):
        boardtraces.read_board_traces_of_loads(tmp_path)


@quick
@given(
    st.lists(
        st.tuples(
            st.integers(0, 10**6), st.sampled_from("RWE"), st.integers(0, 10**9), st.just("a b")
        ),
        min_size=1,
    )
)
def test_what_is_written_is_read(tmp_path: Path, rows: list[tuple[int, str, int, str]]) -> None:
    rows.sort(key=lambda row: row[0])
    text = "".join(f"{at / 8:.3f};{kind};{number};{task}\n" for at, kind, number, task in rows)
    found = boardtraces.read_board_trace_file(put(tmp_path, text), FLASHMON).rows
    assert found == tuple(FlashStart(at / 8, kind, page, task) for at, kind, page, task in rows)


@quick
@given(form=st.sampled_from(FORMS), at=st.integers(0, 200), junk=st.binary(max_size=6))
@example(form=FLASHMON, at=0, junk=b"\xff")
@example(form=FLASHMON, at=4, junk=b"9" * 6)
@example(form=SYSCALLS, at=60, junk="²".encode())
def test_damage_is_read_or_refused_in_one_line(
    tmp_path: Path, form: TraceForm[FlashStart], at: int, junk: bytes
) -> None:
    text = "\n".join(GOOD[form.folder]).encode()
    try:
        assert boardtraces.read_board_trace_file(
            put(tmp_path, text[:at] + junk + text[at + 1 :]), form
        ).rows
    except UsageError as e:
        assert "\n" not in str(e)
        assert "run.csv" in str(e)
