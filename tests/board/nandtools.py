#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""mtd-utils of a chip that is a file, for tests: nanddump, nandwrite, flash_erase and mtdinfo.

Called by these names, in the folder of the chip: ``cells`` has its pages with their spare areas,
``bad`` the numbers of its bad blocks. It is stricter than chips are: a page that is written twice,
or in a bad block, ends it.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nandlab.board.own import transport

PAGE, OOB, PAGES = 512, 16, 4
FULL = PAGE + OOB
ERASED = b"\xff" * FULL
TOOLS = ("flash_erase", "mtdinfo", "nanddump", "nandwrite")


def on_path(folder: Path, cells: bytes, bad: set[int]) -> transport.ShellTransport:
    """A shell of this machine that has the tools, for a chip of these cells."""
    from nandlab.board.own import transport  # a tool is a process of each page: it needs none of it

    (folder / "cells").write_bytes(cells)
    (folder / "bad").write_text(" ".join(map(str, bad)))
    tools = folder / "tools"
    tools.mkdir()
    for name in TOOLS:
        script = tools / name
        script.write_text(
            f'#!/bin/sh\ncd {folder} && exec {sys.executable} -IS {__file__} {name} "$@"\n'
        )
        script.chmod(0o755)
    path = f"{tools}:{os.environ['PATH']}"
    return transport.ShellTransport(
        ("env", f"PATH={path}", "sh", "-c", 'sh -c "$0"; exit $?'), "a file"
    )


def _asked(words: list[str], name: str) -> int:
    """An option's number, as ``-s 4`` or ``--input-size=4`` has it."""
    text = " ".join(words)
    told = re.search(rf"(?:^| ){name}[ =](\d+)", text)
    if told is None:
        raise SystemExit(f"no {name} in {text}")
    return int(told[1])


def _pages(cells: bytes) -> Iterator[bytes]:
    return (cells[i : i + FULL] for i in range(0, len(cells), FULL))


def main(tool: str, words: list[str]) -> None:
    chip, bad = Path("cells"), {int(n) for n in Path("bad").read_text().split()}
    cells = bytearray(chip.read_bytes())
    blocks = len(cells) // (FULL * PAGES)
    if words == ["--help"]:
        print(f"Usage: {tool}")
    elif tool == "mtdinfo":
        marks = (
            f"{i:4}: {i * PAGE * PAGES:08x} {'BAD' if i in bad else '   '}" for i in range(blocks)
        )
        print("Eraseblock map:", "    ".join(marks), sep="\n")
    elif tool == "nanddump":
        assert {"--noecc", "--oob", "--bb=dumpbad"} <= set(words)
        at, size = (_asked(words, name) // PAGE * FULL for name in ("-s", "-l"))
        sys.stdout.buffer.write(cells[at : at + size])
    elif tool == "nandwrite":
        assert {"--noecc", "--oob"} <= set(words)
        at = _asked(words, "-s") // PAGE
        skip, size = _asked(words, "--input-skip"), _asked(words, "--input-size")
        given = Path(words[-1]).read_bytes()[skip : skip + size]
        for page, has in enumerate(_pages(given), at):
            assert page // PAGES not in bad, f"page {page} is in a bad block"
            assert cells[page * FULL : (page + 1) * FULL] == ERASED, f"page {page} is written"
            assert has != ERASED, f"page {page} would be written with nothing"
            cells[page * FULL : (page + 1) * FULL] = has
        chip.write_bytes(cells)
    else:
        for block in set(range(blocks)) - bad:
            cells[block * FULL * PAGES : (block + 1) * FULL * PAGES] = ERASED * PAGES
        chip.write_bytes(cells)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
