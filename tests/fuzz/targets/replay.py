# SPDX-License-Identifier: GPL-2.0-or-later
"""The board's program replay under sanitizers: recorded loads with words and lines exchanged.

No call may reach beyond the folder that it is given.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

from support.replays import EVERY

from fuzz import sanitized, texts
from fuzz.target import Files, Target

WORDS = (
    *(b"../x", b"/x", b"d/../../x", b"O_CREAT|O_TRUNC", b"O_APPEND", b"-ENOENT", b"-EINVAL"),
    *(b"1,2,3,4,5", b"0,0,0,0", b"1023", b"1024", b"1048577", b"7777", b"10000", b"= 5", b"\\xff"),
    *(b'"', b"+5", b"+99999999999999999999", b"9223372036854775807", b"-9223372036854775808"),
    *(b"calls", b"opened", b"SEEK_HOLE", b"fallocate", b"exchange", b"x" * 4095, b"x" * 4097),
)


def draw(chance: Random) -> Files:
    text = texts.lines_changed(EVERY.encode(), chance, WORDS)
    return {"load.txt": texts.bytes_changed(text, chance, 2) if chance.random() < 0.1 else text}


def take(folder: Path) -> None:
    (folder / "at").mkdir()
    program = sanitized.BUILT / "replay"
    sanitized.run([program, folder / "load.txt", folder / "at", "--think", "0"], folder)
    beyond = {p.name for p in folder.iterdir()} - {"at", "load.txt"}
    assert not beyond, beyond


DEVICE = Target(draw, take, prepare=lambda: sanitized.program("replay"), cases=15)
