# SPDX-License-Identifier: GPL-2.0-or-later
"""A trace of cold reads of files that were made before, with the chip as it was: what the benches
of the model of reads share."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from nandlab.trace.folder import TraceFolder

DROP = "echo 3 > /proc/sys/vm/drop_caches"
COLD = f"sync; settle --quiet-ms 1500 --limit-s 120; sync; {DROP}; {DROP}"
"""Once the collector rests, for it fills the page cache; twice, since an inode whose pages are
dropped is kept the first time."""
OPTIONS = {"ubifs": ["--set", "reserve=1"]}
"""UBI keeps a share of the whole chip, which leaves little of a small partition."""


class Where(NamedTuple):
    """What files lie on."""

    filesystem: str
    compression: str
    """Empty: the file system's own, or it has none."""
    board: str
    partition_mib: int
    chip: str | None = None
    """None: the one named as the board is."""
    state: str = "fresh"


def trace(where: Where, commands: Iterable[str], read: str, to: Path) -> TraceFolder:
    """Makes files by shell lines, empties the caches, and traces what reads them."""
    words = ["--fs", where.filesystem, *OPTIONS.get(where.filesystem, [])]
    words += ["--set", f"compression={where.compression}"] if where.compression else []
    words += ["--board", where.board, "--chip", where.chip or where.board, "--state", where.state]
    words += ["--partition-mib", str(where.partition_mib), "--image", "-o", str(to)]
    words += ["--before", f"{{ {'; '.join((*commands, COLD))}; }} > /dev/null 2>&1"]
    argv = [sys.executable, "-m", "nandlab", "trace", *words, "--", read]
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
    return TraceFolder(to)
