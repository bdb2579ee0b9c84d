# SPDX-License-Identifier: GPL-2.0-or-later
"""A folder as products have them: hundreds of files, folders, links, odd names; always the same."""

from __future__ import annotations

import os
import random
from pathlib import Path

BEGAN_S = 1_100_000_000
FILES = 240


def grow(top: Path, odd: bool) -> None:
    """Makes the folder. odd: with names that FAT cannot hold."""
    rng = random.Random(1)
    for i in range(12):
        (top / f"dir{i}" / "sub").mkdir(parents=True)
    for i in range(FILES):
        place = top / f"dir{i % 12}" / ("sub" if i % 5 == 0 else "")
        (place / f"file{i}").write_bytes(rng.randbytes(rng.randrange(3000)))
    (top / "empty").touch()
    (top / "emptydir").mkdir()
    (top / "big").write_bytes(rng.randbytes(1 << 20))
    (top / "zeros").write_bytes(bytes(100_000))
    (top / "with blank").write_text("x")
    (top / ("n" * 200)).write_text("a long name")
    (top / "tolink").symlink_to("dir1/file1")
    (top / "dangling").symlink_to("../no/where/")
    (top / "dir4/hard").hardlink_to(top / "dir3/file3")
    if odd:
        _odd(top)
    for n, path in enumerate(sorted(top.rglob("*"), reverse=True)):
        if not path.is_symlink():
            os.utime(path, (BEGAN_S, BEGAN_S + 2 * n))
    os.utime(top, (BEGAN_S, BEGAN_S))


def _odd(top: Path) -> None:
    for name in ("öl\nnew", "-rf", 'q"\\*?', " lead and trail ", "$HOME;ls"):
        (top / name).write_text(name)
    Path(os.fsdecode(os.fsencode(top) + b"/\xff\xfe")).write_text("no text at all")
    for name in ("UPPER", "upper"):
        (top / name).write_text(name)
    (top / "tool").write_text("#!/bin/sh\n")
    (top / "tool").chmod(0o4751)
    (top / "emptydir").chmod(0o1777)
