#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How well reads are foretold: a file in order and in pieces, read in order and at random.

Measures: five files, one after the other, each on a chip of its own: written in order, and then
updated in pieces of 300, of 512, of 1,500 bytes, and of all three; or 40 files of a page that is
not full. Uncompressed they hold random bytes, else the second half of a program, which
bench/read_model fits nothing to. Each is read in order, or at random by a process for each page,
and set beside what the model of reads foretells from the chip as it was before.
Needs: a board (the virtual one of catalog/boards). Costs: two runs a file.

A line a file goes to --out, and files that are there are not run again: so interrupt it, and run it
again. With --keep the traces stay too; another --out then scores them by other numbers of the
catalog. The last line is one JSON object: the worst of the files, as shares of the time. The exit
status is 1 if N or the order of pages differs in a call that is known.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from coldreads import Where, trace

from nandlab.flash.reading import score, walk
from nandlab.trace.folder import TraceFolder
from nandlab.trace.reads import make_chip_trace_from_folder

FILES: dict[str, dict[int, int]] = {
    "in order": {},
    "300": {300: 1700},
    "512": {512: 1024},
    "1500": {1500: 350},
    "mixed": {300: 461, 512: 461, 1500: 461},
}
"""Bytes of an update -> how many for each MiB of the file."""
IN_ORDER = "cat a > /dev/null"
AT_RANDOM = (
    "for i in $(seq 0 99); do dd if=a of=/dev/null bs=4k count=1 skip=$(((i * 7 + 2) % 240)); "
    "done 2> /dev/null"
)
SHORT = "short"
SHORT_FILES = (
    "for n in $(seq 40); do dd if=%s of=s$n bs=$((n * 100)) count=1 "
    "skip=$(((1000000 + n * 9000) / (n * 100) + 1)); done"
)
READ_SHORT = "for n in $(seq 40); do cat s$n > /dev/null; done"
"""Files of 100 to 4,000 bytes: of a page each, which is not full."""
PAUSE = "sleep 0.3; "
ROWS = ("nandlab", "in_time", "alone", "undisturbed", "paper")


def run(options: argparse.Namespace, name: str, to: Path) -> dict[str, Any]:
    """Makes a file, reads it, and scores that; takes the trace that is there."""
    packed = options.compression not in {"", "none"}
    of_what = "/bin/busybox" if packed else "/dev/urandom"
    source = "dd if=/bin/busybox of=a bs=4k skip=240" if packed else "dd if=/dev/urandom of=a bs=4k"
    commands = [f"{source} count={256 * options.mib}"]
    commands += [
        f"fileload update a --count {count * options.mib} --bytes {size} --seed {seed}"
        for seed, (size, count) in enumerate(FILES.get(name, {}).items(), 1)
    ]
    mib = 16 if options.mib == 1 else 8 * options.mib
    place = options.fs, options.compression, options.board, mib, options.chip, options.state
    read = AT_RANDOM if options.at_random else IN_ORDER
    if name == SHORT:
        commands, read = [SHORT_FILES % of_what], READ_SHORT
    read = PAUSE + read if options.pause else read
    folder = TraceFolder(to) if to.exists() else trace(Where(*place), commands, read, to)
    chip_trace = make_chip_trace_from_folder(folder)
    model_score = score.summarise_call_scores(chip_trace, walk.score_traced_calls(chip_trace))
    return {"file": name} | model_score.model_dump(mode="json", exclude_unset=True)


def worst(scores: list[dict[str, Any]]) -> dict[str, Any]:
    """Of all files: sums of calls, and the largest error of each kind."""
    opens = [row_score for file_scores in scores for row_score in file_scores["opens"]]
    summary: dict[str, Any] = {
        key: sum(file_scores[key] for file_scores in scores)
        for key in ("calls", "unknown", "differ", "disturbed")
    }
    summary["opens"] = len(opens)
    summary["opens_differ"] = sum(not row_score["same"] for row_score in opens)
    still = [
        row_score for row_score in opens if not (row_score["disturbed"] or row_score["ticked"])
    ]
    summary["opens_undisturbed"] = len(still)
    for key, some in (("opens_off", opens), ("opens_undisturbed_off", still)):
        summary[key] = max((abs(row_score["error"] or 0) for row_score in some), default=None)
    for row in ROWS:
        rows = [file_scores[row] for file_scores in scores if file_scores.get(row)]
        summary[row] = {
            key: max(abs(row_score[key]) for row_score in rows)
            for key in ("total", "median", "p99", "max")
            if rows
        }
    return summary


def name_trace(options: argparse.Namespace, name: str) -> str:
    """The folder's name of a trace that is kept: what tells it from all others."""
    words = [options.board, options.chip or options.board, options.fs, options.compression]
    words += [options.state, str(options.mib), name.replace(" ", "-")]
    words += ["at-random"] * options.at_random + ["pause"] * options.pause
    return "-".join(filter(None, words))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--fs", default="jffs2", help="the file system")
    parser.add_argument("--compression", default="none", help='"" for YAFFS2, which has none')
    parser.add_argument("--board", default="omap3evm", help="a board of the catalog")
    parser.add_argument("--chip", help="a chip of the catalog; else the one named as the board is")
    parser.add_argument("--state", default="fresh", help="of the flash")
    parser.add_argument("--mib", type=int, default=1, help="of a file; of a program's half, 1")
    parser.add_argument("--at-random", action="store_true", help="a process for each of 100 pages")
    parser.add_argument(
        "--pause", action="store_true", help="until what programs before have left is freed"
    )
    parser.add_argument("--files", nargs="+", choices=[*FILES, SHORT], default=list(FILES))
    parser.add_argument("--keep", type=Path, help="keep the traces here, and take those there")
    parser.add_argument("--out", type=Path, required=True, help="JSON lines, one a file")
    options = parser.parse_args()
    lines = options.out.read_text().splitlines() if options.out.exists() else []
    scores = {one["file"]: one for one in map(json.loads, lines)}
    for name in (name for name in options.files if name not in scores):
        with tempfile.TemporaryDirectory(prefix="nandlab-") as scratch:
            to = options.keep or Path(scratch)
            scores[name] = run(options, name, to / name_trace(options, name))
        with options.out.open("a") as file:
            print(json.dumps(scores[name]), file=file)
    told = worst([scores[name] for name in options.files])
    names = ("fs", "compression", "board", "state", "mib", "at_random", "pause")
    print(json.dumps({name: getattr(options, name) for name in names} | told))
    sys.exit(1 if told["differ"] else 0)


if __name__ == "__main__":
    main()
