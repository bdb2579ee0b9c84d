# SPDX-License-Identifier: GPL-2.0-or-later
"""Names say what a thing is or does: CONTRIBUTING.md's chapter, as far as a program can hold it."""

from __future__ import annotations

import ast
import importlib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "src" / "nandlab"
BANNED = {
    *{"asked", "found", "given", "had", "held", "judged", "kept", "known", "made", "read", "said"},
    *{"taken", "told", "wanted"},
    *{"at", "beside", "both", "each", "every", "more", "of", "on", "one", "other", "others", "own"},
    *{"rest", "there", "those", "what", "whole", "yours"},
}
"""Participles and pronouns, which say nothing at another place."""
MEMBERS = BANNED - {"at", "read"}
"""For methods and attributes: ``at`` is a place on flash, ``read`` an operation of NAND."""
ALLOWED = {
    *{"StateKey.of", "CutPoints.every", "VerdictGap.what", "PossibleChange.what", "Promise.whole"},
    "Step.beside",
}
"""Attributes that have the name of a key in a stored format, or are part of a stored hash."""
LOCALS = (BANNED - {"read"}) | {
    *{"among", "apart", "between", "done", "here", "left", "meant", "named", "seen", "shown"},
    *{"such", "used", "whose"},
}
"""For what a method gives its object, and parameters and locals that live longer than LINES_MAX.

A ``read`` is an operation.
"""
LINES_MAX = 5


def module_names(source: str) -> Iterator[str]:
    """The functions, classes and values of a module but for those of commands."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if not any("command" in ast.unparse(d) for d in node.decorator_list):
                yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                yield from (n.id for n in ast.walk(target) if isinstance(n, ast.Name))


def member_names(path: Path) -> Iterator[str]:
    """The methods and attributes of a file's classes, but for the fields of stored formats."""
    classes = (n for n in ast.parse(path.read_text()).body if isinstance(n, ast.ClassDef))
    for node in classes:
        for part in node.body:
            if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef):
                yield f"{node.name}.{part.name}"
            if not isinstance(part, ast.AnnAssign) or is_stored(path, node.name):
                continue
            if isinstance(part.target, ast.Name):
                yield f"{node.name}.{part.target.id}"


def is_stored(path: Path, name: str) -> bool:
    """Whether the fields of a class are keys of a file or of printed JSON."""
    parts = path.relative_to(SOURCES).with_suffix("").parts
    found = getattr(importlib.import_module(".".join(["nandlab", *parts])), name)
    return issubclass(found, BaseModel)


def banned(path: Path) -> list[str]:
    """The names of a file that say nothing, its own among them."""
    names = [path.stem, *module_names(path.read_text())]
    return [name for name in names if name.lower().strip("_") in BANNED]


def long_lived_locals(source: str) -> list[str]:
    """The parameters and locals that say nothing at their functions' ends, as ``function.name``."""
    functions = (
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    return [f"{f.name}.{name}" for f in functions for name in vague_names(f)]


def vague_names(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """Names of LOCALS from whose first to whose last line there are more than LINES_MAX."""
    lines: dict[str, list[int]] = defaultdict(list)
    bound = set()
    for parameter in ast.walk(function.args):
        if isinstance(parameter, ast.arg):
            lines[parameter.arg].append(function.lineno)
    for node in ast.walk(function):
        if isinstance(node, ast.arg):
            lines[node.arg].append(node.lineno)
            bound.add(node.arg)
        elif isinstance(node, ast.Name):
            lines[node.id].append(node.lineno)
            if isinstance(node.ctx, ast.Store):
                bound.add(node.id)
    vague = (name for name in bound if name.strip("_") in LOCALS)
    return sorted(n for n in vague if max(lines[n]) - min(lines[n]) >= LINES_MAX)


def vague_attributes(source: str) -> list[str]:
    """The attributes of LOCALS that methods give their objects, which live as long as these."""
    return sorted(
        {
            node.attr
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
            if isinstance(node.value, ast.Name) and node.value.id == "self"
            if node.attr.strip("_") in LOCALS - {"at"}
        }
    )


def test_no_local_that_says_nothing_lives_long() -> None:
    paths = [path for folder in (SOURCES, ROOT / "bench") for path in folder.rglob("*.py")]
    found = {str(p.relative_to(ROOT)): long_lived_locals(p.read_text()) for p in paths}
    assert len(found) > 100
    assert {path: names for path, names in found.items() if names} == {}


def test_no_object_is_given_an_attribute_that_says_nothing() -> None:
    found = {p: vague_attributes(p.read_text()) for p in SOURCES.rglob("*.py")}
    assert {str(path.relative_to(ROOT)): names for path, names in found.items() if names} == {}


def test_an_attribute_that_says_nothing_is_seen() -> None:
    source = "class A:\n    def f(self):\n        self._held: int = self.told\n        self.at = 1"
    assert vague_attributes(source) == ["_held"]


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("def f():\n    told = 1\n\n\n\n    return told", []),
        ("def f():\n    told = 1\n\n\n\n\n    return told", ["f.told"]),
        ("async def f(at):\n\n\n\n\n    return at", ["f.at"]),
        ("def f(\n    *,\n    of: int,\n):\n\n    return of", ["f.of"]),
        (
            "class A:\n    def f(self):\n        for each in ():\n\n\n\n\n\n            each()",
            ["f.each"],
        ),
        ("def f():\n    report(told)\n\n\n\n\n    return told", []),
        ("def f():\n    report(told=1)\n\n\n\n\n    report(told=2)", []),
    ],
)
def test_a_local_that_says_nothing_is_seen(source: str, names: list[str]) -> None:
    assert long_lived_locals(source) == names


def test_no_module_and_nothing_in_it_has_a_banned_name() -> None:
    found = {str(p.relative_to(SOURCES)): banned(p) for p in SOURCES.rglob("*.py")}
    assert {path: names for path, names in found.items() if names} == {}


def test_no_method_or_attribute_has_a_banned_name() -> None:
    names = {name for path in SOURCES.rglob("*.py") for name in member_names(path)}
    wrong = {name for name in names if name.partition(".")[2].lower().strip("_") in MEMBERS}
    assert wrong == ALLOWED


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("def told(): ...", ["told"]),
        ("async def _of(x): ...", ["_of"]),
        ("A, ON = 1, 2", ["ON"]),
        ("REST: int = 3", ["REST"]),
        ("@app.command()\ndef read(): ...", []),
        ("def report(): told = 1", []),
    ],
)
def test_a_banned_name_is_seen(source: str, names: list[str], tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(source)
    assert banned(tmp_path / "module.py") == names
