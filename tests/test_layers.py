# SPDX-License-Identifier: GPL-2.0-or-later
"""Imports go one way: CONTRIBUTING.md's table of rooms, held to."""

from __future__ import annotations

import ast
import graphlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "src" / "nandlab"
TABLE_ROW = re.compile(r"^\| (\d+) \| `(\w+)/` \|(.*)\|$", re.MULTILINE)
TABLE = TABLE_ROW.findall((ROOT / "CONTRIBUTING.md").read_text())
FLOORS = {room: int(floor) for floor, room, _ in TABLE}
"""Room -> its floor, by the table."""
FOLDERS = {room: folders for _, room, what in TABLE if (folders := re.findall(r"`(\w+)/`", what))}
"""Room -> its folders in their order, by the table."""
FILES_MAX = 24
"""Files of a folder; a room of more has folders."""
ROOMS = sorted(p.parent.name for p in SOURCES.glob("*/__init__.py"))
LOOSE = {"__init__.py", "__main__.py"}
MODULES = {
    ".".join(p.relative_to(SOURCES.parent).with_suffix("").parts).removesuffix(".__init__"): p
    for p in SOURCES.rglob("*.py")
}
"""Every module by the name that it is imported by."""
LINES_MAX = 60

IMPORTED = """
import importlib, json, pkgutil, sys
import nandlab.analysis, nandlab.report
for package in (nandlab.analysis, nandlab.report):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        importlib.import_module(module.name)
print(json.dumps([name for name in sys.modules if name.startswith("nandlab.")]))
"""
LATER = ("nandlab.board", "nandlab.trial", "nandlab.image.making", "nandlab.cli")


def imports(source: Path) -> Iterator[str]:
    """The rooms that a file imports from, wherever in it."""
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Import):
            assert not [a.name for a in node.names if a.name.startswith("nandlab")], source
        if not isinstance(node, ast.ImportFrom) or not node.module:
            continue
        top, _, rest = node.module.partition(".")
        if top == "nandlab":
            yield from [rest.partition(".")[0]] if rest else [a.name for a in node.names]


def test_every_room_is_in_the_table_and_every_file_in_a_room() -> None:
    assert sorted(FLOORS) == ROOMS
    assert {p.name for p in SOURCES.glob("*.py")} == LOOSE
    inner = {(p.parent.parent.name, p.parent.name) for p in SOURCES.glob("*/*/__init__.py")}
    assert inner == {(room, folder) for room, folders in FOLDERS.items() for folder in folders}
    assert {(p.parent.parent.name, p.parent.name) for p in SOURCES.glob("*/*/*.py")} == inner
    assert list(SOURCES.glob("*/*/*/*.py")) == []


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_uses_only_rooms_below_it(room: str) -> None:
    wrong = [
        f"{source.relative_to(SOURCES)} imports {other}"
        for source in sorted((SOURCES / room).rglob("*.py"))
        for other in imports(source)
        if other not in (room, "__version__") and FLOORS[other] >= FLOORS[room]
    ]
    assert wrong == []


OPEN = ""
"""Stands for the files of a room that lie in none of its folders."""


def imported_folders(source: Path, room: str) -> Iterator[str]:
    """The folders of its own room that a file imports from; OPEN for a file of none."""
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"nandlab.{room}."):
            folder = str(node.module).split(".")[2]
            yield folder if folder in FOLDERS[room] else OPEN


@pytest.mark.parametrize("room", sorted(FOLDERS))
def test_a_folder_of_a_room_uses_only_those_before_it(room: str) -> None:
    order = FOLDERS[room]
    wrong = [
        f"{source.relative_to(SOURCES)} imports {folder}"
        for i, own in enumerate(order)
        for source in sorted((SOURCES / room / own).glob("*.py"))
        for folder in imported_folders(source, room)
        if folder not in (OPEN, *order[: i + 1])
    ]
    assert wrong == []


def imported_modules(source: Path) -> Iterator[str]:
    """The modules of nandlab that a file imports, wherever in it, also for types alone."""
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("nandlab."):
            for name in node.names:
                module = f"{node.module}.{name.name}"
                yield module if module in MODULES else str(node.module)


def test_no_module_imports_itself_by_way_of_others() -> None:
    imported = {name: set(imported_modules(source)) for name, source in MODULES.items()}
    assert imported["nandlab.cli.run"] >= {"nandlab.cli.runcuts", "nandlab.trial.runner"}
    graphlib.TopologicalSorter(imported).prepare()  # its CycleError names the circle


@pytest.mark.parametrize("room", sorted(set(ROOMS) - {"catalog", "cli"}))
def test_a_newcomer_sees_what_is_in_a_folder(room: str) -> None:
    """The catalog has a file for each noun, the command line one for each verb."""
    folders = [SOURCES / room, *(SOURCES / room / folder for folder in FOLDERS.get(room, []))]
    assert {p.name: n for p in folders if (n := len(list(p.glob("*.py")))) > FILES_MAX} == {}


def test_tests_lie_where_what_they_test_lies() -> None:
    folders = {p.parent.name for p in (ROOT / "tests").glob("*/test_*.py")}
    assert folders - set(ROOMS) == {"conformance", "device", "ffsmark", "fuzz"}


def test_analysis_and_report_import_no_board() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED], capture_output=True, text=True, check=True
    )
    imported: list[str] = json.loads(done.stdout)
    assert "nandlab.report.page.tracepage" in imported
    assert [name for name in imported if name.startswith(LATER)] == []


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)))


def test_no_function_does_more_than_a_screen_shows() -> None:
    """What a command takes from its user is not counted: a parameter with its help is data."""
    long = [
        f"{source.relative_to(SOURCES)}: {f.name}"
        for source in SOURCES.rglob("*.py")
        for f in functions(ast.parse(source.read_text()))
        if (f.end_lineno or 0) - f.body[0].lineno >= LINES_MAX
    ]
    assert long == []


WORKLOADS_OWN = re.compile(r"transactions|creation|ffsmark", re.IGNORECASE)


@pytest.mark.parametrize("room", ["analysis", "plan", "report"])
def test_no_workload_is_known_where_results_are_read(room: str) -> None:
    told = [
        f"{source.name}: {line.strip()}"
        for source in (SOURCES / room).rglob("*")
        if source.suffix in (".py", ".js", ".css", ".html", ".jinja")
        for line in source.read_text().splitlines()
        if WORKLOADS_OWN.search(line)
    ]
    assert told == []
