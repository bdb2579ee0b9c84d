#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What it costs a process to see that the cache is as it was made, beside a quickstart trial.

Measures, in a new process a repeat: processor time of all checks of a process that opens the board
and runs one trial; of the check that was there before, the sizes of all files of the same entries;
and of the whole process with its QEMU.
Needs: QEMU. Costs: a boot at most, then some ten seconds a repeat.

The last line is one JSON object: medians in seconds of processor time, and ratios to the whole.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Collection
from pathlib import Path

from nandlab.base import checksums
from nandlab.board.virtual.qemu import open_board
from nandlab.plan import study
from nandlab.trial import execution


class Checks:
    """The checks of this process, timed."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.folders: set[Path] = set()
        self._fault = checksums.find_folder_fault

    def fault(self, folder: Path, lines: bytes, paths: Collection[str] | None = None) -> str | None:
        """Does a check and adds its time."""
        start = time.process_time()
        try:
            return self._fault(folder, lines, paths)
        finally:
            self.seconds += time.process_time() - start
            self.folders.add(folder)

    def sizes(self) -> float:
        """Seconds that it takes to look at the sizes of all files of these entries."""
        start = time.process_time()
        for folder in self.folders:
            checksums.count_disk_bytes(folder)
        return time.process_time() - start


def once() -> dict[str, float]:
    """What a process does that runs one trial."""
    checks = Checks()
    checksums.find_folder_fault = checks.fault
    spec = study.plan_trials(study.read_study_file(study.find_study_file("quickstart")))[0]
    asyncio.run(execution.run_trial(spec, open_board(spec.virtual), "bench"))
    whole = sum(os.times()[:4])
    return {"checks_s": checks.seconds, "process_s": whole, "sizes_s": checks.sizes()}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--once", action="store_true", help="one repeat, in this process")
    options = parser.parse_args()
    if options.once:
        print(json.dumps(once()))
        return
    words = [sys.executable, __file__, "--once"]
    lines = [subprocess.check_output(words, text=True) for _ in range(options.repeat + 1)]
    repeats = [json.loads(line.splitlines()[-1]) for line in lines[1:]]  # the first may boot
    figures = {name: statistics.median(r[name] for r in repeats) for name in repeats[0]}
    for name in ("checks", "sizes"):
        figures[f"{name}_of_process"] = statistics.median(
            r[f"{name}_s"] / r["process_s"] for r in repeats
        )
    for name, value in figures.items():
        print(f"{name:20} {value:8.4f}")
    print(json.dumps({name: round(value, 4) for name, value in figures.items()}))


if __name__ == "__main__":
    main()
