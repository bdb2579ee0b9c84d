# SPDX-License-Identifier: GPL-2.0-or-later
"""A trace as a table: Parquet and CSV. The one module that knows duckdb."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from nandlab.base.errors import UsageError
from nandlab.base.gate import open_regular_file
from nandlab.traced.records import EventType, Names, Recording

NUMBERS = (
    *("seq", "start_ns", "latency_ns", "cpu", "pid", "device", "object", "offset", "size"),
    *("result", "extra", "depth", "flags"),
)
"""Columns that are fields of a record, as they are."""
WORDS = ("event", "task", "cause", "path", "text")
"""Columns of words; all others are whole numbers."""
FORMATS = {
    # the second version's encodings are smaller and quicker to write than the first's, and
    # dictionaries are for words: looking for them in numbers takes a third of the time; a group
    # of so many rows stays in the processor's cache from the records to the file
    ".parquet": "format parquet, compression snappy, parquet_version v2, "
    "dictionary_size_limit 1000, row_group_size 40960",
    ".csv": "format csv, header, delimiter ';'",
}


def write_event_tables(
    recording: Recording,
    names: Names,
    *paths: Path,
    extra_columns: Mapping[str, NDArray[Any]] | None = None,
    words: Mapping[str, list[str]] | None = None,
) -> None:
    """Writes the events in their order to each path, by its ending.

    ``extra_columns`` are columns beside a record's own. One that is also in ``words`` has indices
    into that list. The event and the task are words; a mark's text and a function's name are in
    ``text``, and ``path`` is empty where it is not given.
    """
    records, extra_columns, words = recording.records, extra_columns or {}, words or {}
    events = {t.value: t.name for t in EventType}
    texts = {
        "event": ("type", [events.get(n, "") for n in range(1 + max(events))]),
        "task": ("task", [names.task(n) for n in range(1 + max(names.tasks, default=0))]),
        **{name: (name, listed) for name, listed in words.items()},
    }
    # duckdb reads the arrays where they are
    columns = {name: records[name] for name in (*NUMBERS, "type", "task")} | dict(extra_columns)
    listed, number = _list_texts(records, names)
    if listed:
        texts["text"] = ("text_number", ["", *listed])
        columns["text_number"] = number
    plain = [*NUMBERS, *(name for name in extra_columns if name not in words)]
    chosen = [f'"{name}"' for name in plain]
    # several threads would first gather all rows, to keep their order: half as much work again
    con = duckdb.connect(config={"threads": 1})
    con.register("events", columns)
    for name, (index, wordlist) in texts.items():
        con.execute(f"SET VARIABLE {name} = ?::VARCHAR[]", [wordlist])
        # an index beyond the list gives null: a name that was not kept
        chosen.append(f"getvariable('{name}')[{index}::BIGINT + 1] AS {name}")
    if "text" not in texts:
        chosen.append("'' AS text")  # a look-up for each would cost as much as eight columns
    if "path" not in words:
        chosen.append("'' AS path")  # no file's name is known
    select = f"SELECT {', '.join(chosen)} FROM events"
    if len(paths) > 1:
        con.execute(f"CREATE TABLE whole AS {select}")
        select = "FROM whole"
    for path in paths:
        con.execute(f"COPY ({select}) TO '{_quote_path(path)}' ({FORMATS[path.suffix]})")
    con.close()


def _list_texts(records: NDArray[Any], names: Names) -> tuple[list[str], NDArray[np.int32]]:
    """The texts of marks and names of functions, and for each record its own's number from 1."""
    types = np.ascontiguousarray(records["type"])
    marks, functions = (
        np.flatnonzero(types == EventType.MARK),
        np.flatnonzero(types == EventType.FUNC),
    )
    function_names = names.functions
    number = np.zeros(len(records), np.int32)
    number[marks] = 1 + np.arange(len(marks))
    listed = [text.decode(errors="replace") for text in records["text"][marks].tolist()]
    if function_names:
        of_function = np.minimum(records["object"][functions], np.uint64(1 + max(function_names)))
        number[functions] = 1 + len(listed) + of_function.astype(np.int32)
        listed += [function_names.get(n, "?") for n in range(2 + max(function_names))]
    return listed, number


def query_parquet_rows(path: Path, sql: str) -> list[tuple[Any, ...]]:
    """Rows of a statement over the table ``events`` that is in a Parquet file."""
    with _run_statement(path, sql) as answer:
        return answer.fetchall()


def query_parquet_arrays(path: Path, sql: str) -> dict[str, NDArray[Any]]:
    """As query, but each column as an array; UsageError if a value is null: traces have none."""
    with _run_statement(path, sql) as answer:
        columns = dict(answer.fetchnumpy())
    for name, values in columns.items():
        if np.ma.is_masked(values):
            raise UsageError(f"{path}: damaged: column {name} has no value in some rows")
    return columns


@contextmanager
def _run_statement(path: Path, sql: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """A statement's answer; UsageError if the file is no such table, or damaged."""
    open_regular_file(path).close()
    with duckdb.connect() as con:
        try:
            con.execute(f"CREATE VIEW events AS FROM read_parquet('{_quote_path(path)}')")
            for name, kind, *_ in con.execute("DESCRIBE events").fetchall():
                if ("VARCHAR" if name in WORDS else "INT") not in kind:
                    raise UsageError(f"{path}: no table of a trace: column {name} is {kind}")
            yield con.execute(sql)
        except duckdb.Error as e:
            why = str(e).partition("\n")[0]
            raise UsageError(f"{path}: damaged, or no table of a trace: {why}") from None


def _quote_path(path: Path) -> str:
    return str(path).replace("'", "''")
