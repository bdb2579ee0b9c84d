#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How far ``nandlab reprice`` is off: the chip's part foretold, and then run.

Measures: FFSMark on apf27's chip and on five chips that differ from it in latencies alone, on three
file systems, fresh and aged; from the first chip's trials the times on the others are foretold.
The error is predicted / run - 1, of each member's total and of the members' medians, which are what
the command prints; beside it the largest error as a share of the change that was run. With
--moments each seed begins at so many moments, and the errors are of each seed's medians.
Needs: a board (the virtual one of catalog/boards).
Costs: a boot if the board is not in the cache, then 12 trials a file system, member and moment.

The last line is one JSON object: the worst error of a total, fresh and aged, over all targets, and
how far one seed's totals on apf27 are apart by the moment alone.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from nandlab.analysis.differences import reprice
from nandlab.analysis.figures import totals
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
workloads = [{{ name = "ffsmark", files = 200, transactions = 400{more} }}]
filesystems = [{filesystems}]
chips = [{chips}]
states = [{{ name = "fresh" }}, {{ name = "aged", valid = 0.5, invalid = 0.25 }}]
ensemble = "{ensemble}"
seeds = [1, 2, 3]
phase_offsets_ms = {offsets}
"""
PERIOD_MS = 512
"""In which JFFS2's draw of its next block comes round: 128 ticks of the board's kernel."""
FILESYSTEMS = {
    "jffs2": '{ name = "jffs2", compression = "none" }',
    "ubifs": '{ name = "ubifs", compression = "none" }',
    "yaffs2": '{ name = "yaffs2" }',
}
HEAD = (
    *("", "", "target", "run there / here", "error of each total", "largest, of the change"),
    *("of the median", "worst phase"),
)


class Error(NamedTuple):
    """One trial and target."""

    filesystem: str
    state: str
    target: str
    seed: int
    offset_ms: float
    phase: str
    """Empty: the total."""
    here_ns: int
    """Measured on apf27."""
    there_ns: int
    """Run on the target."""
    predicted_ns: int

    @property
    def error(self) -> float:
        return self.predicted_ns / self.there_ns - 1

    @property
    def of_change(self) -> float | None:
        """The error as a share of the change in time; None: there was no change."""
        change = abs(self.there_ns - self.here_ns)
        return abs(self.predicted_ns - self.there_ns) / change if change else None


def project(
    folder: Path, filesystems: Sequence[str], parameters: Sequence[str], moments: int
) -> Path:
    """A study with its chips beside it; parameters: NAME=VALUE of the load, as in TOML."""
    chips = folder / "catalog" / "chips"
    chips.mkdir(parents=True)
    text = (ROOT / "catalog/chips/apf27.toml").read_text()
    for target, timing in TARGETS.items():
        chip_text = text.replace('name = "apf27"', f'name = "apf27-{target}"', 1)
        for key, ns in timing.items():
            chip_text, n = re.subn(
                rf"^{key} = \d+$", f"{key} = {ns}", chip_text, flags=re.MULTILINE
            )
            assert n == 1, key
        (chips / f"apf27-{target}.toml").write_text(chip_text)
    parts = ["apf27", *(f"apf27-{t}" for t in TARGETS)]
    chip_tables = ", ".join(f'{{ part = "{part}", partition_mib = 32 }}' for part in parts)
    study = folder / "reprice.toml"
    extra_parameters = "".join(f", {parameter}" for parameter in parameters)
    mounted = ", ".join(FILESYSTEMS[name] for name in filesystems)
    offsets = [i * PERIOD_MS // moments for i in range(moments)] if moments > 1 else [0, 97, 193]
    how = {"ensemble": "crossed" if moments > 1 else "paired", "offsets": offsets}
    study.write_text(
        STUDY.format(chips=chip_tables, filesystems=mounted, more=extra_parameters, **how)
    )
    return study


def errors(trials: list[Trial]) -> Iterator[Error]:
    """Each total and phase of each target, foretold from the trial of the same member on apf27."""
    here = {_member(t): t for t in trials if t.chip.part == "apf27"}
    for other_trial in trials:
        if other_trial.chip.part == "apf27" or not other_trial.ok:
            continue
        base = here[_member(other_trial)]
        part = reprice.find_trial_part_latencies(other_trial)
        for phase in ["", *totals.list_measured_phase_names(base)]:
            predicted_ns = (
                reprice.predict_phase_ns_on_part(base, phase, part)
                if phase
                else reprice.predict_total_ns_on_part(base, part)
            )
            was, run = (
                totals.compute_phase_ns(t, phase) if phase else reprice.compute_measured_total_ns(t)
                for t in (base, other_trial)
            )
            assert predicted_ns is not None and was and run
            name, state = other_trial.filesystem, other_trial.state.name
            target = other_trial.chip.part.removeprefix("apf27-")
            times = round(was), round(run), round(predicted_ns)
            yield Error(
                name, state, target, other_trial.seed, other_trial.phase_offset_ms, phase, *times
            )


def _member(trial: Trial) -> tuple[str, str, int, float]:
    return trial.filesystem, trial.state.name, trial.seed, trial.phase_offset_ms


def by_seed(every: Sequence[Error]) -> list[Error]:
    """The medians of each seed's moments."""
    of: dict[tuple[str, str, str, int, str], list[Error]] = {}
    for e in every:
        of.setdefault((*e[:4], e.phase), []).append(e)
    found = []
    for (filesystem, state, target, seed, phase), each in of.items():
        here, there, told = (round(median(ns)) for ns in zip(*(e[6:9] for e in each), strict=True))
        found.append(Error(filesystem, state, target, seed, 0, phase, here, there, told))
    return found


def row(errors: Sequence[Error]) -> list[str]:
    """A line of the table: one file system, state and target."""
    first = errors[0]
    totals = [e for e in errors if not e.phase]
    here_ns, there_ns, predicted_ns = (
        median(t) for t in zip(*(e[6:] for e in totals), strict=True)
    )
    worst = max(totals, key=lambda e: abs(e.error))
    phase = max((e for e in errors if e.phase), key=lambda e: abs(e.error))
    return [
        *(first.filesystem, first.state, first.target, f"{there_ns / here_ns:.2f}"),
        ", ".join(f"{e.error:+.2%}" for e in totals),
        "" if worst.of_change is None else f"{worst.of_change:.1%}",
        f"{predicted_ns / there_ns - 1:+.2%}",
        f"{phase.phase} {phase.error:+.1%}",
    ]


def measure_seed_spread(errors: Sequence[Error]) -> dict[str, float]:
    """By state, greatest over least of one seed's totals on apf27, less 1."""
    totals_by_seed: dict[tuple[str, str, int], list[int]] = {}
    for e in errors:
        if not e.phase:
            totals_by_seed.setdefault((e.filesystem, e.state, e.seed), []).append(e.here_ns)
    worst: dict[str, float] = {}
    for (_, state, _), ns in totals_by_seed.items():
        worst[state] = max(worst.get(state, 0), round(max(ns) / min(ns) - 1, 5))
    return worst


def show(errors: Sequence[Error]) -> None:
    """The table, then the worst errors as JSON."""
    by_seeds = by_seed(errors)
    for cells in (HEAD, ["---"] * len(HEAD)):
        print(f"| {' | '.join(cells)} |")
    for key in dict.fromkeys(e[:3] for e in by_seeds):
        print(f"| {' | '.join(row([e for e in by_seeds if e[:3] == key]))} |")
    totals = [e for e in by_seeds if not e.phase]
    worst = {
        f"worst_{state}": round(max(abs(e.error) for e in totals if e.state == state), 5)
        for state in dict.fromkeys(e.state for e in totals)
    }
    print(
        json.dumps(
            worst | {f"apart_{state}": by for state, by in measure_seed_spread(errors).items()}
        )
    )


def keep(errors: Sequence[Error], to: Path) -> None:
    """All errors, of each phase too, as CSV."""
    with to.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow([*Error._fields, "error", "of_change"])
        rows.writerows([*e, e.error, e.of_change] for e in errors)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="keep the run here, and go on with it")
    parser.add_argument("--csv", type=Path, help="write all errors here, of each phase too")
    parser.add_argument("--members", type=int, default=3)
    parser.add_argument("--moments", type=int, default=1, help="at which each seed begins")
    parser.add_argument("--jobs", type=int, default=2, help="boards at once")
    parser.add_argument("--filesystem", action="append", choices=FILESYSTEMS, help="default: all")
    parser.add_argument("--param", action="append", default=[], help="NAME=VALUE of the load")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="nandlab-") as made:
        of = options.filesystem or list(FILESYSTEMS)
        study = project(Path(made), of, options.param, options.moments)
        out = options.out or Path(made) / "run"
        words = ["run", str(study), "--out", str(out)]
        scale = ["--members", str(options.members * options.moments), "--jobs", str(options.jobs)]
        subprocess.run([sys.executable, "-m", "nandlab", *words, *scale], check=True)
        found = list(errors(list(RunFolder(out).trials())))
    show(found)
    if options.csv:
        keep(found, options.csv)


if __name__ == "__main__":
    main()
