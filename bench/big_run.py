#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What the host's verbs cost for big runs, and whether that grows as the trials do.

Measures: processor time and peak memory of plan, show, show --json, advise, compare, report, each
in a process of its own, for two runs of quickstart with so many trials. compare is of the run with
itself, with another in which no time is the same, and with one in which no figure is, down to the
counts of each block.
The runs are made up of a small one: each planned trial is that run's of its configuration, with
every time and count of the load and the steps scaled by up to 2 %, by its seed. They are written as
any run, so each file is sealed and validates.
Needs: a finished run of quickstart (RUN), or a board to run it on; 400 MB of disk.
Costs: some five minutes, and a run of quickstart if none is given.

The last line is one JSON object: by verb, processor time in s and peak memory in MiB for each
number of trials, and growth, the quotient of the processor times. The exit status is 1 if one is
over its bar.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

from nandlab.base.paths import STUDIES
from nandlab.plan.study import plan_trials, read_study_file
from nandlab.results.folder import RunFolder
from nandlab.results.record import Trial

TRIALS = (1260, 5040)
"""How many trials the two runs have: 90 and 360 members of quickstart's 14 configurations."""
SCALED_MAX = 0.02
"""Share by which a trial's figures differ from those of the trial that it is made of."""
TIMED_FIELDS = ("phases", "steps", "latency_ns")
"""Fields of a trial that have its times, and the chip's counts over them."""
COUNT_FIELDS = ("operations", "bytes", "measured", "per_block")
"""Fields of a trial that have no times."""
GROWTH_MAX = 1.1
"""Growth of the processor time for that of the trials."""


class Draw(NamedTuple):
    """How the trials of a run are made of those of the small one."""

    name: str
    """It seeds the draw: the same gives the same figures."""
    fields: tuple[str, ...] = TIMED_FIELDS
    """Whose numbers are scaled."""
    least: float = -SCALED_MAX
    """The least share by which they grow."""
    whole: Callable[[float], int] = round
    """Makes a whole number of a scaled one."""


FIRST = Draw("first")
OTHER_TIMES = Draw("other")
OTHER_FIGURES = Draw("every", (*TIMED_FIELDS, *COUNT_FIELDS), 0, math.ceil)
"""Each number is greater, but for 0."""


class Bar(NamedTuple):
    """The most that a verb may take for the bigger run."""

    cpu_s: float
    mib: float


BARS = {
    "show": Bar(20, 400),
    "show --json": Bar(20, 400),
    "advise": Bar(20, 400),
    "compare": Bar(20, 400),
    "compare, other times": Bar(20, 400),
    "compare, other figures": Bar(20, 400),
    "report": Bar(40, 600),
}


class Cost(NamedTuple):
    """What a verb took."""

    cpu_s: float
    mib: float


def format_study(members: int) -> str:
    """Quickstart's study file with so many seeds."""
    text = (STUDIES / "quickstart.toml").read_text()
    return re.sub(r"^seeds = .*$", f"seeds = {[*range(1, members + 1)]}", text, flags=re.MULTILINE)


def scale_numbers(value: Any, by: float, round_number: Callable[[float], int]) -> Any:
    """Every whole number within a value scaled; any other value as it is."""
    if isinstance(value, dict):
        return {key: scale_numbers(inner, by, round_number) for key, inner in value.items()}
    if isinstance(value, list):
        return [scale_numbers(inner, by, round_number) for inner in value]
    if isinstance(value, int) and not isinstance(value, bool):
        return round_number(value * by)
    return value


def make_trial(source: Trial, change: Mapping[str, Any], draw: Draw) -> Trial:
    """A trial with another's figures scaled, and with other fields."""
    by = 1 + random.Random(f"{draw.name} {change['id']}").uniform(draw.least, SCALED_MAX)
    fields = source.model_dump(mode="json")
    scaled = {name: scale_numbers(fields[name], by, draw.whole) for name in draw.fields}
    return Trial.model_validate(fields | scaled | dict(change)).add_sources(source.sources)


def make_run(source: Path, to: Path, trials: int, draw: Draw) -> None:
    """Writes the study and the run of so many trials."""
    small = RunFolder(source)
    head, file = small.head(), to / "study.toml"
    to.mkdir(parents=True)
    specs = plan_trials(read_study_file(STUDIES / "quickstart.toml"))
    members = len(read_study_file(STUDIES / "quickstart.toml").members())
    file.write_text(format_study(trials * members // len(specs)))
    by_configuration: dict[str, list[Trial]] = {}
    for spec in specs:
        if trial := small.load(spec.id):
            by_configuration.setdefault(spec.configuration(), []).append(trial)
    sources = {name: cycle(members) for name, members in by_configuration.items()}
    study = read_study_file(file)
    specs = plan_trials(study)
    fields = {"id": "0" * 12, "spec": study.model_dump(mode="json")}
    run = RunFolder.create(
        to / "run", head.model_copy(update=fields | {"trials": [s.id for s in specs]})
    )
    for spec in specs:
        change = {"id": spec.id, "seed": spec.seed, "run": fields["id"]}
        run.save(make_trial(next(sources[spec.configuration()]), change, draw))


def measure_cost(*command: str) -> Cost:
    """What a verb took, in a process of its own; SystemExit with what it said where it failed."""
    with tempfile.TemporaryFile() as errors:
        words = [sys.executable, "-m", "nandlab", *command]
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        differs = command[0] == "compare" and process.returncode == 1
        if process.returncode and not differs:
            errors.seek(0)
            sys.exit(f"{' '.join(command)}: {errors.read().decode(errors='replace')}")
    return Cost(round(usage.ru_utime + usage.ru_stime, 2), round(usage.ru_maxrss / 1024, 1))


def measure_verbs(folder: Path, other_times: Path, other_figures: Path) -> dict[str, Cost]:
    """Each verb's for one run; the others: runs of the same trials with other figures."""
    run = str(folder / "run")
    return {
        "plan": measure_cost("plan", str(folder / "study.toml")),
        "show": measure_cost("show", run),
        "show --json": measure_cost("show", run, "--json"),
        "advise": measure_cost("advise", run),
        "compare": measure_cost("compare", run, run),
        "compare, other times": measure_cost("compare", run, str(other_times / "run")),
        "compare, other figures": measure_cost("compare", run, str(other_figures / "run")),
        "report": measure_cost("report", run),
    }


def list_bars_missed(verb: str, small: Cost, big: Cost, trials_growth: float) -> list[str]:
    """In which a verb is over its bar."""
    bar = BARS.get(verb)
    growth = big.cpu_s / small.cpu_s
    missed = [f"growth {growth:.2f}"] if growth > GROWTH_MAX * trials_growth else []
    if bar and big.cpu_s > bar.cpu_s:
        missed.append(f"{big.cpu_s} s")
    return [*missed, *([f"{big.mib} MiB"] if bar and big.mib > bar.mib else [])]


def call_in_process(target: Any, *arguments: object) -> None:
    """Calls a function in a new process: its memory does not count as that of the verbs."""
    process = multiprocessing.get_context("spawn").Process(target=target, args=arguments)
    process.start()
    process.join()
    if process.exitcode:
        sys.exit(process.exitcode)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", nargs="?", type=Path, help="a run of quickstart; default: run it")
    parser.add_argument("--trials", type=int, nargs=2, default=TRIALS, help="of the two runs")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="nandlab-") as temporary:
        source = options.run or Path(temporary) / "quickstart"
        if not options.run:
            words = ["run", "quickstart", "--out", str(source)]
            subprocess.run([sys.executable, "-m", "nandlab", *words], check=True)
        costs: list[dict[str, Cost]] = []
        for trials in options.trials:
            folders = []
            for draw in (FIRST, OTHER_TIMES, OTHER_FIGURES):
                folders.append(Path(temporary) / f"{trials}-{draw.name}")
                call_in_process(make_run, source, folders[-1], trials, draw)
            costs.append(measure_verbs(*folders))
    print_costs(costs, options.trials)


def print_costs(costs: list[dict[str, Cost]], trials: tuple[int, int]) -> None:
    """The table and the JSON; exit status 1 if a verb is over its bar."""
    small, big = costs
    print(f"| verb | {trials[0]}: CPU s | MiB | {trials[1]}: CPU s | MiB | growth | over |")
    print(f"| {' | '.join(['---'] * 7)} |")
    by_verb: dict[str, dict[str, Any]] = {}
    for verb, cost in big.items():
        missed = list_bars_missed(verb, small[verb], cost, trials[1] / trials[0])
        growth = round(cost.cpu_s / small[verb].cpu_s, 2)
        cells = [verb, *small[verb], *cost, growth, ", ".join(missed) or "-"]
        print(f"| {' | '.join(map(str, cells))} |")
        pairs = zip(trials, (small[verb], cost), strict=True)
        by_verb[verb] = {str(n): c._asdict() for n, c in pairs} | {"growth": growth, "over": missed}
    print(json.dumps(by_verb))
    sys.exit(any(record["over"] for record in by_verb.values()))


if __name__ == "__main__":
    main()
