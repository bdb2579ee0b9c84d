# SPDX-License-Identifier: GPL-2.0-or-later
"""A cache of folders named by the hash of everything that went into them.

An entry is made in a temporary folder and renamed, under a lock of its own, so that a reader sees
all of it or none, and two runs that need the same entry at once make it once.
"""

from __future__ import annotations

import fcntl
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nandlab.base.digest import digest
from nandlab.base.paths import cache_dir


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Only one process at a time is past this for one path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        yield


def place(kind: str, inputs: Any) -> Path:
    """Where the entry made from ``inputs`` is, or would be."""
    return cache_dir() / kind / digest(inputs)[:20]


def entry(kind: str, inputs: Any, make: Callable[[Path], None]) -> Path:
    """The folder made from ``inputs``; ``make`` fills it if it is not there yet.

    ``inputs`` must name everything that ``make`` depends on. If ``make`` raises, nothing is kept.
    """
    folder = place(kind, inputs)
    if folder.is_dir():
        return folder
    with held(folder.with_suffix(".lock")):
        if folder.is_dir():
            return folder
        part = f".part-{folder.name}-"
        for left in folder.parent.glob(f"{part}*"):  # by a process that was killed
            shutil.rmtree(left, ignore_errors=True)
        work = Path(tempfile.mkdtemp(dir=folder.parent, prefix=part))
        try:
            work.chmod(0o755)
            make(work)
            (work / "inputs.json").write_text(json.dumps(inputs, indent=1, sort_keys=True))
            work.rename(folder)
        except BaseException:
            shutil.rmtree(work, ignore_errors=True)
            raise
    return folder
