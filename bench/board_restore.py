#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What the board itself costs: host time beside the work that a trial does.

Measures: restore, from the call to the moment the board begins its first step; and the whole of a
job whose one step does nothing, from the call to the record: the overhead of a trial. The board is
booted and saved first, unmeasured.
Needs: QEMU. Costs: a boot, then about a second a repeat.

The last line is one JSON object; times in host seconds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import time

from nandlab.board.jobs.job import Job, Step
from nandlab.board.virtual.qemu import QemuBoard, open_board
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import load_noun


def once(board: QemuBoard) -> tuple[float, float]:
    """Host seconds to the first step's begin, and to the record."""
    begun: list[float] = []
    start = time.perf_counter()
    job = Job((Step("nothing", "true"),))
    asyncio.run(board.run(job, lambda step: begun.append(time.perf_counter())))
    return begun[0] - start, time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--board", default="apf27")
    parser.add_argument("--repeat", type=int, default=20)
    options = parser.parse_args()
    board = open_board(load_noun("boards", options.board, BoardModel))
    restore, whole = zip(*(once(board) for _ in range(options.repeat)), strict=True)
    figures: dict[str, object] = {"board": options.board, "repeat": options.repeat}
    print(f"{'':22} {'median s':>9} {'min s':>9} {'max s':>9}")
    for name, values in (("restore_s", restore), ("empty_trial_s", whole)):
        median = statistics.median(values)
        print(f"{name:22} {median:9.3f} {min(values):9.3f} {max(values):9.3f}")
        figures[name] = round(median, 4)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
