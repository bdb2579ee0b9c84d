#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""filetree's own cost, against Debian's fs_mark making the same files.

Measures: elapsed time of the whole process, both programs making so many files of one size in one
folder of one tmpfs, in turns, after one unmeasured run of each; the ratio is that of the medians.
Both create each file, write it with one write(2) if it is at most 64 KiB, close it, and time each
call. fs_mark syncs unless told not to: it is told (-S 0), and to keep its files (-k). Besides,
fs_mark calls mkdir(2) of the folder before each file, and its names have 40 bytes; filetree draws
the tree twice, and sums up what it writes for its digest. cpu_ratio is that of the processor's
time, which a busy host moves less.
Needs: a tmpfs (/dev/shm by default), a built filetree (`make build`). fs_mark is fetched from the
machine's Debian mirror into the cache, as filetree_vs_fsmark.lock has it, and not installed.
Costs: about a fifth of a second a repeat.

Number and sizes of the files of both are checked first. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from nandlab.base.cache import make_entry
from nandlab.board.kit import deb, lock, packages
from nandlab.board.kit.apt import PackagesUnavailable, Suite
from nandlab.board.kit.packagesets import LibrarySet

REPO = Path(__file__).resolve().parent.parent
FSMARK = LibrarySet(Suite("bookworm", "amd64"), ("fsmark",))
LOCK = Path(__file__).with_suffix(".lock")
PIECE = 65536
"""Bytes of filetree's writes; fs_mark is told to write as many."""


def fsmark() -> Path:
    """Debian's fs_mark, unpacked in the cache; the newest where the locked is not to be had."""
    files = lock.read_package_lock(LOCK)[FSMARK.name]
    try:
        packages.fetch_packages(FSMARK, files)
    except PackagesUnavailable:
        files = packages.resolve_newest_packages(FSMARK)
        packages.fetch_packages(FSMARK, files)

    def make(work: Path) -> None:
        for sha256 in files.values():
            deb.unpack_package(packages.make_cached_package_path(sha256), work)

    return make_entry("fsmark", {"files": dict(files)}, make) / "usr" / "bin" / "fs_mark"


class Took(NamedTuple):
    """Seconds of a run."""

    elapsed: float
    cpu: float


def timed(command: list[str], folder: Path) -> tuple[Took, list[int]]:
    """A run's time, and the sizes of the files that it made; the folder is gone after."""
    start, before = time.perf_counter(), os.times()
    subprocess.run(command, cwd=folder.parent, capture_output=True, timeout=600, check=True)
    elapsed, after = time.perf_counter() - start, os.times()
    used = after.children_user - before.children_user
    used += after.children_system - before.children_system
    took = Took(elapsed, used)
    sizes = sorted(p.stat().st_size for p in folder.rglob("*") if p.is_file())
    shutil.rmtree(folder)
    return took, sizes


def compare(commands: dict[str, list[str]], folder: Path, repeat: int) -> dict[str, object]:
    """Both programs in turns; each begins with an empty folder, and goes first as often."""

    def run(name: str) -> tuple[Took, list[int]]:
        folder.mkdir()
        return timed(commands[name], folder)

    # the warm-up is also the proof that both do the same
    seen = {name: run(name)[1] for name in commands}
    if seen["filetree"] != seen["fs_mark"] or not seen["filetree"]:
        sys.exit(f"the two made different files: { {k: len(v) for k, v in seen.items()} }")
    runs: dict[str, list[Took]] = {name: [] for name in commands}
    for turn in range(repeat):
        for name in sorted(commands, reverse=bool(turn % 2)):
            runs[name].append(run(name)[0])
    times = {name: [r.elapsed for r in values] for name, values in runs.items()}
    cpu = {name: statistics.median(r.cpu for r in values) for name, values in runs.items()}
    median = {name: statistics.median(values) for name, values in times.items()}
    ratios = [ours / theirs for ours, theirs in zip(*times.values(), strict=True)]
    print(f"{'program':10} {'median s':>9} {'min s':>9} {'max s':>9}")
    for name, values in times.items():
        print(f"{name:10} {median[name]:9.4f} {min(values):9.4f} {max(values):9.4f}")
    return {
        "time_ratio": round(median["filetree"] / median["fs_mark"], 4),
        "cpu_ratio": round(cpu["filetree"] / cpu["fs_mark"], 4),
        "pair_ratio_min": round(min(ratios), 4),
        "pair_ratio_max": round(max(ratios), 4),
        "filetree_s": round(median["filetree"], 4),
        "fsmark_s": round(median["fs_mark"], 4),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--repeat", type=int, default=15, help="measured runs of each")
    parser.add_argument("--files", type=int, default=10000)
    parser.add_argument("--size", type=int, default=750, help="bytes of each file")
    parser.add_argument("--tmpfs", default="/dev/shm", help="directory on a tmpfs")
    parser.add_argument("--filetree", default=str(REPO / "build" / "filetree"))
    options = parser.parse_args()
    if shutil.which(options.filetree) is None:
        print(f"{options.filetree} is not there; `make build` makes it", file=sys.stderr)
        sys.exit(2)
    number, size = str(options.files), str(options.size)
    with tempfile.TemporaryDirectory(dir=options.tmpfs) as place:
        folder = Path(place) / "made"
        tree = ["--depth=1", "--dirs=0", f"--files={number}", f"--size={size}", "--seed=1"]
        log = os.devnull
        commands = {
            "filetree": [str(Path(options.filetree).resolve()), "make", str(folder), *tree],
            "fs_mark": [
                *(str(fsmark()), "-k", "-S", "0", "-d", str(folder), "-n", number, "-s", size),
                *("-t", "1", "-L", "1", "-w", str(PIECE), "-l", log),
            ],
        }
        figures = compare(commands, folder, options.repeat)
    print(
        json.dumps(
            {**figures, "repeat": options.repeat, "files": options.files, "size": options.size}
        )
    )


if __name__ == "__main__":
    main()
