# SPDX-License-Identifier: GPL-2.0-or-later
"""Recordings of strace with words and lines exchanged, made a workload."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from random import Random

from support import straces

from fuzz import texts
from fuzz.command import command
from fuzz.target import Files, Target

NAMES = ("attached", "dpkg", "sqlite-rollback", "sqlite-wal")
LINES = 150
WORDS = (
    *(b"openat", b"AT_FDCWD", b"O_RDWR|O_CREAT", b"<unfinished ...>", b"<... read resumed>", b"-1"),
    *(
        b"ENOENT (No such file or directory)",
        b"clone",
        b"execve",
        b"+++ exited with 0 +++",
        b"dup2",
    ),
    *(b"pwrite64", b"renameat2", b"lseek", b"SEEK_END", b"mmap", b"unlink", b'"/data/x"', b"= 0"),
)
FOLDERS = ("/data", "/", "", None, "/var/lib/dpkg", "data", "/tmp")


@cache
def sound(name: str) -> bytes:
    lines = straces.recording(name).read_bytes().split(b"\n")
    return b"\n".join(lines[:LINES]) + b"\n"


def draw(chance: Random) -> Files:
    text = texts.lines_changed(sound(chance.choice(NAMES)), chance, WORDS)
    below = chance.choice(FOLDERS)
    words = [] if below is None else ["--below", below]
    return {"t.strace": text, "words.json": json.dumps(words).encode()}


def take(folder: Path) -> None:
    words = json.loads((folder / "words.json").read_text())
    command("workload", "from-strace", "t.strace", *words, "--name", "t")


DEVICE = Target(draw, take)
