# SPDX-License-Identifier: GPL-2.0-or-later
"""Traces of a real board, CSV files by other tools, with words and lines exchanged."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from random import Random

from support import boardmade

from fuzz import texts
from fuzz.command import command
from fuzz.target import Files, Target

WORDS = (b"read", b"write", b"open", b"R", b"E", b"P", b"nan", b"inf", b"1e400", b"-0.5", b";")


@cache
def sound() -> Files:
    calls = [boardmade.opened(), *(boardmade.read(i * 4096, 4096) for i in range(6))]
    flash = boardmade.Flash()
    for pages in (3, 2, 4):
        flash.burst(pages)
    flash.erase(12)
    functions = boardmade.functions([[3, 2], [4], [2, 2, 2]])
    with tempfile.TemporaryDirectory() as folder:
        runs = [boardmade.syscalls([*calls, boardmade.closed()])]
        path = boardmade.write(Path(folder) / "load", runs, [functions], [flash.rows])
        return {
            str(p.relative_to(path.parent)): p.read_bytes() for p in path.rglob("*") if p.is_file()
        }


def draw(chance: Random) -> Files:
    files = dict(sound())
    for _ in range(chance.randint(1, 2)):
        name = chance.choice(sorted(files))
        files[name] = texts.lines_changed(files[name], chance, WORDS)
    return files


def take(folder: Path) -> None:
    command("model", "board", "load")


DEVICE = Target(draw, take)
