#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""FFSMark's own cost, against Debian's postmark on the same operations.

Measures: elapsed time of the whole process, both programs running one configuration on one
tmpfs, in turns, after one unmeasured run of each; the ratio is that of the medians.
Needs: postmark, a tmpfs (/dev/shm by default), a built ffsmark (`make -C device/programs`).
Costs: about half a second a repeat.

Both must do the same operations, or there is nothing to compare: the counts of both reports are
checked first. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
COUNTS = re.compile(
    r"(\d+) (created|read|appended|deleted|files) \(|([\d.]+ \w+) (?:read|written) \("
)
CONFIGURATION = """\
set number {number}
set transactions {transactions}
set location {location}
set buffering {buffering}
run
quit
"""


def counts(report: str) -> list[tuple[str, ...]]:
    """What a report says was done, without any figure that depends on time."""
    return [match.groups(default="") for match in COUNTS.finditer(report)]


def timed(command: list[str]) -> tuple[float, str]:
    start = time.perf_counter()
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600, check=True
    )
    return time.perf_counter() - start, done.stdout


def compare(ffsmark: str, postmark: str, configuration: Path, repeat: int) -> dict[str, object]:
    commands = {
        "ffsmark": [ffsmark, str(configuration)],
        "postmark": [postmark, str(configuration)],
    }
    # The warm-up is also the proof that both do the same.
    seen = {name: counts(timed(command)[1]) for name, command in commands.items()}
    if seen["ffsmark"] != seen["postmark"] or not seen["ffsmark"]:
        sys.exit(f"the two did different things: {seen}")
    times: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(repeat):
        # Each goes first as often as the other.
        for name in sorted(commands, reverse=bool(turn % 2)):
            times[name].append(timed(commands[name])[0])
    median = {name: statistics.median(values) for name, values in times.items()}
    ratios = [ours / theirs for ours, theirs in zip(*times.values(), strict=True)]
    print(f"{'program':10} {'median s':>9} {'min s':>9} {'max s':>9}")
    for name, values in times.items():
        print(f"{name:10} {median[name]:9.4f} {min(values):9.4f} {max(values):9.4f}")
    return {
        "time_ratio": round(median["ffsmark"] / median["postmark"], 4),
        "pair_ratio_min": round(min(ratios), 4),
        "pair_ratio_max": round(max(ratios), 4),
        "ffsmark_s": round(median["ffsmark"], 4),
        "postmark_s": round(median["postmark"], 4),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--repeat", type=int, default=15, help="measured runs of each")
    parser.add_argument("--number", type=int, default=1000)
    parser.add_argument("--transactions", type=int, default=20000)
    parser.add_argument("--buffering", choices=("true", "false"), default="true")
    parser.add_argument("--tmpfs", default="/dev/shm", help="directory on a tmpfs")
    parser.add_argument("--ffsmark", default=os.environ.get("NANDLAB_FFSMARK"))
    parser.add_argument("--postmark", default="postmark")
    options = parser.parse_args()
    ffsmark = options.ffsmark or str(REPO / "build" / "ffsmark")
    for program, remedy in ((ffsmark, "make build"), (options.postmark, "make test")):
        if shutil.which(program) is None:
            print(f"{program} is not there; `{remedy}` makes or installs it", file=sys.stderr)
            sys.exit(2)
    with (
        tempfile.TemporaryDirectory(dir=options.tmpfs) as location,
        # Not in the location, where the files are named by number.
        tempfile.NamedTemporaryFile("w", suffix=".pm") as configuration,
    ):
        configuration.write(
            CONFIGURATION.format(
                number=options.number,
                transactions=options.transactions,
                location=location,
                buffering=options.buffering,
            )
        )
        configuration.flush()
        figures = compare(ffsmark, options.postmark, Path(configuration.name), options.repeat)
    figures |= {
        "repeat": options.repeat,
        "number": options.number,
        "transactions": options.transactions,
        "buffering": options.buffering,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
