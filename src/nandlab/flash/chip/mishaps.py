# SPDX-License-Identifier: GPL-2.0-or-later
"""What goes wrong with a flash operation: ways to tear it, and kinds of fault.

Each is a C file of ``device`` with a table of its name, texts and numbers. The host reads these
tables, so a file alone adds one. The board builds the same files into its module and its program.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from nandlab.base.errors import NandlabError
from nandlab.base.gate import read_text
from nandlab.base.paths import DEVICE

WAYS_FOLDER = DEVICE / "modules" / "powercut" / "ways"
FAULT_PROGRAM = "faultcheck"
KINDS_FOLDER = DEVICE / "programs" / FAULT_PROGRAM / "kinds"
SOURCE_BYTES_MAX = 1 << 20
TABLE = re.compile(r"^const struct \w+ \w+_(\w+) = \{\n(.*?)^\};", re.MULTILINE | re.DOTALL)
MEMBER = re.compile(r"^\t\.(\w+) =\s((?:.|\n\t\t)*?),$", re.MULTILINE)
OPERATION_WORDS = {
    "p": "programs a page",
    "o": "programs a spare area alone",
    "b": "marks a block bad",
    "e": "erases a block",
}
"""What a flash operation does, by its letter in a record of operations."""
TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True)
class TearWay:
    """What a power cut in the midst of an operation leaves."""

    name: str
    page: str
    """What it leaves of a page that is programmed."""
    block: str | None
    """What it leaves of a block that is erased; None: it tears no erase."""
    is_usual: bool
    """Whether campaigns tear so unless they are told which ways."""
    is_unstable: bool
    """Whether cells read differently from one time to the next."""

    @property
    def strikes(self) -> str:
        """The letters of the operations that it tears."""
        return "".join(letter for letter in OPERATION_WORDS if letter != "e" or self.block)


@dataclass(frozen=True)
class FaultKind:
    """What fails at a flash operation."""

    name: str
    effect: str
    is_unreadable: bool
    """Whether a page cannot be read then, so that errors are expected."""
    is_alone: bool
    """Whether it is a campaign of its own, such as a disk that is full."""
    module: str | None = None
    """The folder of device/modules whose module it needs; a kernel may not take it, so such a kind
    is tried only where it is named."""
    strikes: str = "".join(OPERATION_WORDS)
    """The letters of the operations that it strikes."""


def read_source_tables(folder: Path) -> Iterator[dict[str, str]]:
    """The members of each C file's table, in the order of the tables; texts without their quotes.

    The table's name ends with that of its file.
    """
    tables = []
    for path in sorted(folder.glob("*.c")):
        match = TABLE.search(read_text(path, SOURCE_BYTES_MAX))
        if match is None or match[1] != path.stem:
            raise NandlabError(f"{path}: no table that is named by {path.stem}")
        members = {name: _parse_value(value) for name, value in MEMBER.findall(match[2])}
        if members.get("name") != path.stem:
            raise NandlabError(f"{path}: its .name must be {path.stem}")
        tables.append(members)
    yield from sorted(tables, key=lambda each: int(each.get("order", "0")) or 1 << 32)


def _parse_value(value: str) -> str:
    return "".join(TEXT.findall(value)) if value.startswith('"') else value


@cache
def read_tear_ways() -> Mapping[str, TearWay]:
    """The ways by name, in the order of lists."""
    return {
        table["name"]: TearWay(
            table["name"],
            table["page"],
            table.get("block"),
            table.get("usual") == "true",
            table.get("unstable") == "true",
        )
        for table in read_source_tables(WAYS_FOLDER)
    }


def list_usual_fault_kinds() -> tuple[str, ...]:
    """The kinds that campaigns try unless they are told which."""
    return tuple(name for name, kind in read_fault_kinds().items() if kind.module is None)


@cache
def read_fault_kinds() -> Mapping[str, FaultKind]:
    """The kinds by name, in the order of lists."""
    return {
        table["name"]: FaultKind(
            table["name"],
            table["what"],
            table.get("unreadable") == "true",
            "steps" in table,
            table.get("module"),
            table.get("strikes", "".join(OPERATION_WORDS)),
        )
        for table in read_source_tables(KINDS_FOLDER)
    }
