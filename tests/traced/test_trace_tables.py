# SPDX-License-Identifier: GPL-2.0-or-later
"""A trace as Parquet and CSV: every field, in order, with names for numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from nandlab.traced import records, tables
from nandlab.traced.records import RECORD, EventType, Names, Task


def test_parquet_and_csv_have_every_event_in_order(tmp_path: Path) -> None:
    n = 300_000  # several row groups
    made = np.zeros(n, RECORD)
    made["seq"] = np.arange(n, 0, -1)
    made["type"], made["task"], made["pid"] = EventType.FLASH_READ, 2, 70
    made["object"], made["offset"] = 2**63 + 5, 2**62
    made["result"] = -117
    made["type"][0], made["text"][0] = EventType.MARK, b"the end; really"
    made["task"][1] = 9
    made["type"][1], made["object"][1] = EventType.FUNC, 3
    names = Names(tasks={2: Task(70, False, "a;b")}, functions={0: "no", 3: "jffs2_iget"})
    parquet, csv = tmp_path / "it's.parquet", tmp_path / "e.csv"
    cause = np.zeros(n, np.int32)
    cause[0] = 1
    tables.write_event_tables(
        records.sort_trace_records(made),
        names,
        parquet,
        csv,
        extra_columns={"cause": cause, "parent": np.arange(n)},
        words={"cause": ["", "wear"]},
    )
    rows = tables.query_parquet_rows(parquet, "SELECT seq FROM events")
    assert [r[0] for r in rows] == list(range(1, n + 1))
    found = tables.query_parquet_rows(
        parquet,
        'SELECT event, task, object, "offset", result, text, cause, parent FROM events '
        "WHERE seq IN (1, 2, 299999, 300000) ORDER BY seq",
    )
    flash = ("FLASH_READ", "a;b", 2**63 + 5, 2**62, -117, "")
    assert found[0] == (*flash, "wear", 0)
    assert found[1] == (*flash, "", 1)
    assert found[2][:3] == ("FUNC", None, 3)
    assert found[2][5] == "jffs2_iget"
    assert (found[3][0], found[3][5]) == ("MARK", "the end; really")
    lines = csv.read_text().splitlines()
    assert lines[0].startswith("seq;start_ns;latency_ns;cpu;pid;device;object;offset;size;result;")
    assert len(lines) == n + 1
    assert lines[-1].startswith(f"{n};")
    assert '"the end; really"' in lines[-1]


def test_a_trace_of_nothing_is_a_table_of_nothing(tmp_path: Path) -> None:
    tables.write_event_tables(
        records.sort_trace_records(np.zeros(0, RECORD)), Names(), tmp_path / "e.parquet"
    )
    assert tables.query_parquet_rows(tmp_path / "e.parquet", "SELECT count(*) FROM events") == [
        (0,)
    ]
