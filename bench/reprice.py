#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How far ``nandlab reprice`` is off: the chip's part foretold, and then run.

Measures: FFSMark on apf27's chip and on five chips that differ from it in latencies alone, on three
file systems, fresh and aged; from the first chip's trials the times on the others are foretold.
The error is predicted / run - 1; beside it the error as a share of the change that was foretold.
Needs: a board (the virtual one of catalog/boards).
Costs: a boot if the board is not in the cache, then 36 trials a member.

The last line is one JSON object: the worst error of the total, fresh and aged, over all targets.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from nandlab.analysis import reprice, totals
from nandlab.base.paths import ROOT
from nandlab.results.folder import RunFolder
from nandlab.results.record import Trial

TARGETS = {
    "halved": {
        "t_r_ns": 12500,
        "t_prog_ns": 110000,
        "t_bers_ns": 250000,
        "t_rc_ns": 18,
        "t_wc_ns": 18,
    },
    "slow-erase": {"t_bers_ns": 2000000},
    "slow-bus": {"t_rc_ns": 150, "t_wc_ns": 150},
    "slow-program": {"t_r_ns": 50000, "t_prog_ns": 300000},
    "multi-level": {"t_r_ns": 60000, "t_prog_ns": 800000, "t_bers_ns": 1500000},
}
"""Latencies in which each differs from apf27."""
STUDY = """\
name = "reprice"
question = "How far off is a figure that is foretold from counts?"
board = "apf27"
[matrix]
workloads = [{{ name = "ffsmark", files = 200, transactions = 400 }}]
filesystems = [
    {{ name = "jffs2", compression = "none" }},
    {{ name = "ubifs", compression = "none" }},
    {{ name = "yaffs2" }},
]
chips = [{chips}]
states = [{{ name = "fresh" }}, {{ name = "aged", valid = 0.5, invalid = 0.25 }}]
ensemble = "paired"
seeds = [1, 2, 3]
phase_offsets_ms = [0, 97, 193]
"""


class Error(NamedTuple):
    """One trial and target."""

    filesystem: str
    state: str
    target: str
    seed: int
    phase: str
    """Empty: the total."""
    change: float
    """Run there / measured here."""
    error: float
    of_change: float | None
    """The error as a share of the change in time; None: there was no change."""


def project(folder: Path) -> Path:
    """A study with its chips beside it."""
    chips = folder / "catalog" / "chips"
    chips.mkdir(parents=True)
    text = (ROOT / "catalog/chips/apf27.toml").read_text()
    for target, timing in TARGETS.items():
        told = text.replace('name = "apf27"', f'name = "apf27-{target}"', 1)
        for key, ns in timing.items():
            told, n = re.subn(rf"^{key} = \d+$", f"{key} = {ns}", told, flags=re.MULTILINE)
            assert n == 1, key
        (chips / f"apf27-{target}.toml").write_text(told)
    parts = ["apf27", *(f"apf27-{t}" for t in TARGETS)]
    named = ", ".join(f'{{ part = "{part}", partition_mib = 32 }}' for part in parts)
    study = folder / "reprice.toml"
    study.write_text(STUDY.format(chips=named))
    return study


def errors(trials: list[Trial]) -> Iterator[Error]:
    """Each total and phase of each target, foretold from the trial of the same member on apf27."""
    here = {_member(t): t for t in trials if t.chip.part == "apf27"}
    for there in trials:
        if there.chip.part == "apf27" or not there.ok:
            continue
        base = here[_member(there)]
        part = reprice.own(there)
        for phase in ["", *totals.timed(base)]:
            told = reprice.phase_ns(base, phase, part) if phase else reprice.total_ns(base, part)
            was, run = (
                totals.total_ns(t, phase) if phase else reprice.measured_ns(t)
                for t in (base, there)
            )
            assert told is not None and was and run
            off = abs(told - run) / abs(run - was) if run != was else None
            name, state = there.filesystem, there.state.name
            target = there.chip.part.removeprefix("apf27-")
            yield Error(name, state, target, there.seed, phase, run / was, told / run - 1, off)


def _member(trial: Trial) -> tuple[str, str, int]:
    return trial.filesystem, trial.state.name, trial.seed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="keep the run here, and go on with it")
    parser.add_argument("--members", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="nandlab-") as made:
        study = project(Path(made))
        out = given.out or Path(made) / "run"
        words = ["run", str(study), "--out", str(out), "--members", str(given.members)]
        subprocess.run([sys.executable, "-m", "nandlab", *words], check=True)
        found = list(errors(list(RunFolder(out).trials())))
    worst: dict[str, float] = {}
    print("| | | target | run there / here | error of the total | of the change | worst phase |")
    print("|---|---|---|---|---|---|---|")
    for filesystem, state, target in dict.fromkeys(e[:3] for e in found):
        of = [e for e in found if e[:3] == (filesystem, state, target)]
        whole = max((e for e in of if not e.phase), key=lambda e: abs(e.error))
        phase = max((e for e in of if e.phase), key=lambda e: abs(e.error))
        share = "" if whole.of_change is None else f"{whole.of_change:.2%}"
        cells = [filesystem, state, target, f"{whole.change:.2f}", f"{whole.error:+.2%}", share]
        print(f"| {' | '.join(cells)} | {phase.phase} {phase.error:+.1%} |")
        worst[state] = max(worst.get(state, 0), abs(whole.error))
    print(json.dumps({f"worst_{state}": round(error, 5) for state, error in worst.items()}))


if __name__ == "__main__":
    main()
