#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What reading costs, in instructions: what catalog/read-costs.toml says, measured.

Measures: files that are written in order, in pieces and with gaps, uncompressed and by each
compressor, are opened and read under trace. Each call's time, less the chip's and the tracers', is
the sum of its work by kind (nandlab.model.cost) times a price. The prices are the least squares
over all calls. Calls during which something else ran are left out, and so are those that lie far
off: a timer's interrupt between two reads of the flash shows nowhere else.
Needs: a board whose clock counts instructions (the virtual one of catalog/boards).
Costs: six short runs a board, some five minutes.

None of these files may be one that a model is scored on: tests/model and docs/model.md have others.
Prints the board's section of the catalog's file. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nandlab.catalog.chip import ChipModel
from nandlab.catalog.files import load
from nandlab.model import cost, score
from nandlab.model.score import Scored
from nandlab.trace.folder import TraceFolder
from nandlab.traced import cost as tracing

RANDOM = "dd if=/dev/urandom of={} bs=4k count={} 2> /dev/null"
PACKED = "dd if=/bin/busybox of={} bs=4k count={} skip={} 2> /dev/null"
UPDATES = "fileload update {} --count {} --bytes {} --seed {} > /dev/null"
PLAIN = (
    RANDOM.format("a", 200),
    RANDOM.format("b", 60),
    RANDOM.format("c", 24),
    RANDOM.format("d", 80),
    RANDOM.format("e", 7),
    UPDATES.format("b", 300, 200, 11),
    UPDATES.format("c", 40, 1000, 12),
    UPDATES.format("d", 100, 3000, 13),
    UPDATES.format("d", 150, 100, 14),
    "for i in 1 5 6 30 31 47; do dd if=/dev/urandom of=g bs=1000 count=3 seek=$((i * 4)) "
    "conv=notrunc 2> /dev/null; done",
)
UNPACKED = (
    PACKED.format("a", 150, 0),
    PACKED.format("b", 60, 160),
    PACKED.format("c", 8, 230),
    UPDATES.format("b", 60, 500, 15),
    UPDATES.format("b", 30, 2500, 16),
)
LOADS = {"none": PLAIN, "lzo": UNPACKED, "zlib": UNPACKED}
DROP = "echo 3 > /proc/sys/vm/drop_caches"
COLD = f"sync; settle --quiet-ms 1500 --limit-s 120 > /dev/null; sync; {DROP}; {DROP}"
"""Once the collector rests, for it fills the page cache; twice, since an inode whose pages are
dropped is kept the first time."""
FAR = 6
"""Median deviations from what the prices say, beyond which a call is left out."""
ROUNDS = 8


def traced(board: str, compression: str, to: Path) -> TraceFolder:
    """The trace of a load, made if it is not there."""
    if not to.exists():
        words = [
            *("trace", "run", "--image", "--fs", "jffs2", "--set", f"compression={compression}"),
            *("--partition-mib", "16", "--board", board, "-o", str(to)),
            *("--before", "; ".join((*LOADS[compression], COLD))),
            *("--", "for f in *; do cat $f > /dev/null; done"),
        ]
        subprocess.run([sys.executable, "-m", "nandlab", *words], check=True)
    return TraceFolder(to)


def fit(
    work: NDArray[np.float64], told: NDArray[np.float64], whole: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Prices by least squares of what they miss as a share of the whole, and of which rows they
    are: those that do not lie far off."""
    near = np.ones(len(work), bool)
    for _ in range(ROUNDS):
        prices, *_ = np.linalg.lstsq((work.T / whole).T[near], (told / whole)[near], rcond=None)
        off = np.abs(work @ prices - told) / whole
        near = off <= FAR * float(np.median(off[near]))
    return prices, near


class Fit:
    """Prices, found for some kinds of work after others."""

    def __init__(self, page_ns: int, instruction_ns: int) -> None:
        self.page_ns, self.instruction_ns = page_ns, instruction_ns
        self.prices: dict[str, float] = {}

    def take(self, title: str, calls: Sequence[Scored], kinds: Sequence[str]) -> None:
        """Prices of some kinds by calls whose other work is priced; prints how well they fit."""
        work = np.array([[call.work.get(kind, 0) for kind in kinds] for call in calls], float)
        told = np.array([self.left(call) for call in calls])
        whole = np.array([call.ns for call in calls]) / self.instruction_ns
        prices, near = fit(work, told, whole)
        off = np.abs(work @ prices - told) / whole
        print(
            f"{title}: {len(calls)} calls, {np.count_nonzero(~near)} far off; of the whole time "
            f"median {np.median(off):.3%}, p99 {np.quantile(off, 0.99):.2%}, most {off.max():.2%}",
            file=sys.stderr,
        )
        self.prices |= {k: round(float(p), 4) for k, p in zip(kinds, prices, strict=True)}

    def left(self, call: Scored) -> float:
        """Instructions of a call that have no price yet."""
        ns = call.ns - len(call.flash) * self.page_ns
        done = sum(count * self.prices.get(kind, 0) for kind, count in call.work.items())
        return ns / self.instruction_ns - done


def prices_of(calls: Sequence[Scored], page_ns: int, instruction_ns: int) -> dict[str, float]:
    """The price of each kind of work: of plain files, then of each compressor, then of opens."""
    found = Fit(page_ns, instruction_ns)
    opens = [call for call in calls if call.page is None]
    still = [call for call in calls if call.page is not None and not call.disturbed]
    plain = [c for c in still if not any(f"{p}_node" in c.work for p in cost.PACKERS)]
    found.take("plain", plain, [k for k in cost.READING if k in cost.WORK])
    for packer in cost.PACKERS:
        packed = [c for c in still if f"{packer}_node" in c.work]
        found.take(packer, packed, [k for k in cost.READING if k.startswith(packer)])
    found.take("open", opens, [k for k in cost.KINDS if k.startswith("open")])
    found.prices["paper"] = paper(plain, page_ns, instruction_ns, found.prices["page"])
    return found.prices


def paper(calls: Sequence[Scored], page_ns: int, instruction_ns: int, page: float) -> float:
    """T_overhead as the paper finds it: the mean of two sets, each the mean of T - N T_page.

    The one set is of pages in one node, the other of fragmented ones.
    """
    sets: dict[bool, list[float]] = {True: [], False: []}
    for call in calls:
        left = (call.ns - len(call.flash) * page_ns) / instruction_ns - len(call.flash) * page
        sets[call.work["node"] == 1].append(left)
    return round(sum(sum(each) / len(each) for each in sets.values()) / len(sets), 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--board", default="apf27", help="of catalog/boards")
    parser.add_argument("--keep", type=Path, help="keep the traces here, and take those there")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="nandlab-") as made:
        kept = given.keep or Path(made)
        traces = {c: traced(given.board, c, kept / f"{given.board}-{c}") for c in LOADS}
        calls = {c: score.calls(trace) for c, trace in traces.items()}
        board = traces["none"].meta["board"]
    wrong = sum(not call.same for c in calls.values() for call in c if call.known)
    if wrong:
        raise SystemExit(f"{wrong} calls read other pages than foretold: no price can be known")
    ns, page_ns = tracing.instruction_ns(board), cost.page_ns(load("chips", "apf27", ChipModel))
    assert ns is not None
    known = [call for c in calls.values() for call in c if call.known]
    prices = prices_of(known, page_ns, ns)
    print(f'[kernels."{tracing.series(str(board["kernel"]))}"]')
    for kind in cost.KINDS:
        print(f"{kind} = {prices[kind]}")
    print(json.dumps({"calls": len(known)}))


if __name__ == "__main__":
    main()
