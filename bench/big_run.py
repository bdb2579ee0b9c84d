#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What the host's verbs cost for big runs, and whether that grows as the trials do.

Measures: processor time and peak memory of plan, show, show --json, advise, compare, report, each
in a process of its own, for two runs of quickstart with so many trials. compare is of the run with
itself, and of the run with another in which no time is the same.
The runs are made up of a small one: each planned trial is that run's of its configuration, with
every time and count of the load and the steps scaled by up to 2 %, by its seed. They are written as
any run, so each file is sealed and validates.
Needs: a finished run of quickstart (RUN), or a board to run it on; 250 MB of disk.
Costs: some four minutes, and a run of quickstart if none is given.

The last line is one JSON object: by verb, processor time in s and peak memory in MiB for each
number of trials, and growth, the quotient of the processor times. The exit status is 1 if one is
over its bar.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
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
SCALED = ("phases", "steps", "latency_ns")
"""Fields of a trial whose numbers are scaled."""
GROWTH_MAX = 1.1
"""Growth of the processor time for that of the trials."""


class Bar(NamedTuple):
    """The most that a verb may take for the bigger run."""

    cpu_s: float
    mib: float


BARS = {
    "show": Bar(20, 400),
    "show --json": Bar(20, 400),
    "advise": Bar(20, 400),
    "compare": Bar(20, 400),
    "report": Bar(40, 600),
}


class Cost(NamedTuple):
    """What a verb took."""

    cpu_s: float
    mib: float


def study(members: int) -> str:
    """Quickstart's study file with so many seeds."""
    text = (STUDIES / "quickstart.toml").read_text()
    return re.sub(r"^seeds = .*$", f"seeds = {[*range(1, members + 1)]}", text, flags=re.MULTILINE)


def scaled(value: Any, by: float) -> Any:
    """Every whole number within a value scaled; any other value as it is."""
    if isinstance(value, dict):
        return {key: scaled(inner, by) for key, inner in value.items()}
    if isinstance(value, list):
        return [scaled(inner, by) for inner in value]
    return round(value * by) if isinstance(value, int) and not isinstance(value, bool) else value


def made_of(source: Trial, change: Mapping[str, Any], by: float) -> Trial:
    """A trial with another's figures scaled, and with other fields."""
    told = source.model_dump(mode="json")
    told |= {name: scaled(told[name], by) for name in SCALED} | dict(change)
    return Trial.model_validate(told).add_sources(source.sources)


def make(source: Path, to: Path, trials: int, draw: str) -> None:
    """Writes the study and the run of so many trials; the same draw gives the same figures."""
    small = RunFolder(source)
    head, file = small.head(), to / "study.toml"
    to.mkdir(parents=True)
    specs = plan_trials(read_study_file(STUDIES / "quickstart.toml"))
    members = len(read_study_file(STUDIES / "quickstart.toml").members())
    file.write_text(study(trials * members // len(specs)))
    by_configuration: dict[str, list[Trial]] = {}
    for spec in specs:
        if trial := small.load(spec.id):
            by_configuration.setdefault(spec.configuration(), []).append(trial)
    sources = {name: cycle(found) for name, found in by_configuration.items()}
    big = read_study_file(file)
    specs = plan_trials(big)
    told = {"id": "0" * 12, "spec": big.model_dump(mode="json"), "trials": [s.id for s in specs]}
    run = RunFolder.create(to / "run", head.model_copy(update=told))
    for spec in specs:
        by = 1 + random.Random(f"{draw} {spec.id}").uniform(-SCALED_MAX, SCALED_MAX)
        change = {"id": spec.id, "seed": spec.seed, "run": told["id"]}
        run.save(made_of(next(sources[spec.configuration()]), change, by))


def cost(*command: str) -> Cost:
    """What a verb took, in a process of its own; SystemExit with what it said where it failed."""
    with tempfile.TemporaryFile() as said:
        words = [sys.executable, "-m", "nandlab", *command]
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=said)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        differs = command[0] == "compare" and process.returncode == 1
        if process.returncode and not differs:
            said.seek(0)
            sys.exit(f"{' '.join(command)}: {said.read().decode(errors='replace')}")
    return Cost(round(used.ru_utime + used.ru_stime, 2), round(used.ru_maxrss / 1024, 1))


def costs(folder: Path, moved: Path) -> dict[str, Cost]:
    """Each verb's for one run; moved: a run of the same trials with other figures."""
    run = str(folder / "run")
    return {
        "plan": cost("plan", str(folder / "study.toml")),
        "show": cost("show", run),
        "show --json": cost("show", run, "--json"),
        "advise": cost("advise", run),
        "compare": cost("compare", run, run),
        "compare, moved": cost("compare", run, str(moved / "run")),
        "report": cost("report", run),
    }


def over(verb: str, small: Cost, big: Cost, grown: float) -> list[str]:
    """In which a verb is over its bar."""
    bar = BARS.get(verb)
    growth = big.cpu_s / small.cpu_s
    found = [f"growth {growth:.2f}"] if growth > GROWTH_MAX * grown else []
    if bar and big.cpu_s > bar.cpu_s:
        found.append(f"{big.cpu_s} s")
    return [*found, *([f"{big.mib} MiB"] if bar and big.mib > bar.mib else [])]


def apart(target: Any, *arguments: object) -> None:
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
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="nandlab-") as made:
        source = given.run or Path(made) / "quickstart"
        if not given.run:
            words = ["run", "quickstart", "--out", str(source)]
            subprocess.run([sys.executable, "-m", "nandlab", *words], check=True)
        found: list[dict[str, Cost]] = []
        for trials in given.trials:
            folders = [Path(made) / f"{trials}-{draw}" for draw in ("first", "other")]
            for folder in folders:
                apart(make, source, folder, trials, folder.name)
            found.append(costs(*folders))
    tell(found, given.trials)


def tell(found: list[dict[str, Cost]], trials: tuple[int, int]) -> None:
    """The table and the JSON; exit status 1 if a verb is over its bar."""
    small, big = found
    print(f"| verb | {trials[0]}: CPU s | MiB | {trials[1]}: CPU s | MiB | growth | over |")
    print(f"| {' | '.join(['---'] * 7)} |")
    every: dict[str, dict[str, Any]] = {}
    for verb, cost in big.items():
        wrong = over(verb, small[verb], cost, trials[1] / trials[0])
        growth = round(cost.cpu_s / small[verb].cpu_s, 2)
        cells = [verb, *small[verb], *cost, growth, ", ".join(wrong) or "-"]
        print(f"| {' | '.join(map(str, cells))} |")
        each = zip(trials, (small[verb], cost), strict=True)
        every[verb] = {str(n): c._asdict() for n, c in each} | {"growth": growth, "over": wrong}
    print(json.dumps(every))
    sys.exit(any(told["over"] for told in every.values()))


if __name__ == "__main__":
    main()
