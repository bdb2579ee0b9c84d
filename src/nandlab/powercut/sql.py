# SPDX-License-Identifier: GPL-2.0-or-later
"""Loads of SQL, and the host's own oracle of them: SQLite, in each mode that promises something.

A line of a load is a transaction, or several statements. ``device/programs/sqlcut`` plays the lines
on the board; what the database then holds must be what it held after one of them.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing

from nandlab.base.errors import UsageError
from nandlab.base.scratch import hold_scratch_folder
from nandlab.powercut.loads import (
    Load,
    LoadSet,
    make_loads_from_calls,
    parse_load_title,
    refuse_long_line,
)

SET_NAME = "sqlite"
PROGRAM = "sqlcut"
DATABASE = "test.db"
LINE_BYTES_MAX = 8190
"""Of a line of a file, as sqlcut reads it."""
ROWS, TRANSACTIONS = 24, 6
MODES = {
    "delete, full": ("journal_mode=delete", "synchronous=full"),
    "delete, extra": ("journal_mode=delete", "synchronous=extra"),
    "truncate, full": ("journal_mode=truncate", "synchronous=full"),
    "persist, full": ("journal_mode=persist", "synchronous=full"),
    "wal, full": ("locking_mode=exclusive", "journal_mode=wal", "synchronous=full"),
}
"""PRAGMAs by a load's title. A WAL is alone, for JFFS2 and NFTL share no map of its index."""
CHECKPOINT_PAGES = 12
NEVER = 1 << 62


def make_sql_loads(seed: int = 1) -> LoadSet:
    """The same transactions in each mode: inserts, updates, deletes of a table with an index."""
    draw = random.Random(seed)

    def word() -> str:
        return "".join(draw.choices("abcdefghijklmnop", k=draw.randint(20, 200)))

    rows = ", ".join(f"({i}, {i * 7}, '{word()}')" for i in range(ROWS))
    base = (
        "CREATE TABLE contacts (id INTEGER PRIMARY KEY, seen INTEGER, name TEXT)",
        "CREATE INDEX by_seen ON contacts (seen)",
        f"INSERT INTO contacts VALUES {rows}",
    )
    lines: list[str] = []
    for i in range(TRANSACTIONS):
        insert = f"INSERT INTO contacts VALUES ({100 + i}, {i}, '{word()}')"
        update = f"UPDATE contacts SET seen = seen + 1, name = '{word()}' WHERE id % 5 = {i % 5}"
        delete = f"DELETE FROM contacts WHERE id = {draw.randrange(ROWS)}"
        lines.append(f"BEGIN; {insert}; {update}; {delete}; COMMIT")
    loads = []
    for title, pragmas in MODES.items():
        words = [f"PRAGMA {each}" for each in pragmas]
        words += [f"PRAGMA wal_autocheckpoint={CHECKPOINT_PAGES}"] if "wal" in title else []
        loads.append(Load(title, (*words, *lines, "VACUUM")))
    return LoadSet(SET_NAME, base, tuple(loads), PROGRAM)


def parse_sql_loads(name: str, text: str) -> LoadSet:
    """Loads of SQL from a file's text, a line done at once; UsageError names the line that SQLite
    does not take."""
    base: dict[str, str] = {}
    bases: dict[str, dict[str, str]] = {}
    for number, line in enumerate(map(str.strip, text.splitlines()), 1):
        where = f"{name}:{number}"
        if not line or line.startswith("#"):
            continue
        refuse_long_line(where, line, LINE_BYTES_MAX)
        if line.startswith("load "):
            title = parse_load_title(where, line.removeprefix("load ").strip(), bases)
            bases[title] = {}
        else:
            (bases[title] if bases else base)[where] = line
    loads = make_loads_from_calls(
        name, {title: tuple(lines.values()) for title, lines in bases.items()}
    )
    for lines in bases.values():
        _refuse_bad_lines({**base, **lines})
    return LoadSet(name, tuple(base.values()), loads, PROGRAM)


def _refuse_bad_lines(lines: Mapping[str, str]) -> None:
    """UsageError for the first line that SQLite does not take, or that does not end what it begins;
    lines: by their places."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        db.set_authorizer(_authorize_own_database)
        for where, line in lines.items():
            try:
                db.executescript(line)
            except (sqlite3.Error, ValueError) as e:  # ValueError: a byte of 0
                raise UsageError(f"{where}: SQLite {sqlite3.sqlite_version}: {e}") from None
            if db.in_transaction:
                raise UsageError(
                    f"{where}: a transaction is open at its end: write it on one line, from BEGIN "
                    "to COMMIT"
                )


def _authorize_own_database(action: int, file: str | None, *_: object) -> int:
    """No other database is attached, which nobody would judge; VACUUM attaches one without a
    name."""
    another = action == sqlite3.SQLITE_ATTACH and file != ""
    return sqlite3.SQLITE_DENY if another else sqlite3.SQLITE_OK


Content = list[tuple[str, list[tuple[object, ...]]]]


def _read_tables(db: sqlite3.Connection) -> Content:
    """All rows of all tables."""
    asked = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
    tables = [name for (name,) in db.execute(asked)]
    return [(name, db.execute(f'SELECT * FROM "{name}" ORDER BY 1').fetchall()) for name in tables]


class SqlOracle:
    """What a database may hold, for one load and its marks: see oracle.Oracle."""

    def __init__(self, loads: LoadSet, load: Load, marks: str) -> None:
        calls = [*loads.base, *load.calls]
        self.base = len(loads.base)
        self.begun = [0] * self.base + [NEVER] * len(load.calls)
        self.returned = list(self.begun)
        for line in marks.splitlines():
            operations, mark = map(int, line.split())
            (self.returned if mark % 2 else self.begun)[mark // 2] = operations
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
            self.after = [self._done(db, call) for call in calls]

    @staticmethod
    def _done(db: sqlite3.Connection, call: str) -> Content:
        db.executescript(call)
        return _read_tables(db)

    def list_violations(
        self, databases: Mapping[str, bytes | None], operations: int, *, in_next: bool
    ) -> list[str]:
        """What is wrong with a database's files after so many flash operations."""
        returned = [i for i, at in enumerate(self.returned) if at <= operations]
        kept = max(returned)
        begun = [i for i, at in enumerate(self.begun) if at < operations + in_next]
        may = self.after[kept : max(kept, *begun) + 1]
        return list(self._list_wrong_databases(databases, may))

    @staticmethod
    def _list_wrong_databases(
        found: Mapping[str, bytes | None], may: list[Content]
    ) -> Iterator[str]:
        with hold_scratch_folder() as folder:
            for name, content in found.items():
                if content is not None and "/" not in name:
                    (folder / name).write_bytes(content)
            if not (folder / DATABASE).exists():
                yield "no database"
                return
            try:
                with closing(sqlite3.connect(folder / DATABASE)) as db:
                    (told,) = db.execute("PRAGMA integrity_check(1)").fetchone()
                    if told != "ok":
                        yield f"integrity_check: {told}"
                    elif _read_tables(db) not in may:
                        yield "the database is as after no line that it may be"
            except sqlite3.DatabaseError as e:
                yield f"SQLite: {e}"
