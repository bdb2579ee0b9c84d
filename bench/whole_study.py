#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What a whole study costs, step by step, beside the same study at another commit.

Measures, with the study's first members run one trial at a time: the guest's instructions in each
step, from the record: its time, less what the chip's driver added to the clock (``warped_ns``), at
2^shift ns an instruction. They are exact, the same on every machine and beside any load. An idle
board runs no-ops, which are among them and cost little. Then instructions for each page that the
chip programmed, in the fill and the load; processor time of the run's process with its QEMU, a
trial; and the board's seconds for each of those, all steps.
The processes find their modules compiled, as those of an installed nandlab do, whatever
PYTHONDONTWRITEBYTECODE says here.
With ``--against COMMIT``, the same of a worktree of that commit, which is removed at the end.
Beside other processes the same work takes more of the processor's time, and not the same more each
time: ``--turns N`` runs both in turns and takes the least of each.
Needs: QEMU, git. Costs: two runs of the study's members and a boot of each board; quickstart's one
member takes some two minutes of processor time a commit and turn. The boards stay in the cache.

The last line is one JSON object: by commit the figures, and the ratios to the other commit. The
exit status is 1 if instructions or processor time a trial are over BAR of the other commit's.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

REPO = Path(__file__).resolve().parents[1]
BAR = 0.65
"""The most that instructions and processor time a trial may be of the other commit's."""
PROGRAMMING = ("fill", "workload")
"""Steps whose instructions are told for each page that was programmed in them."""
ONE_TRIAL = "1/100000"
"""A shard of the study that has one trial: it makes the board and the programs."""
NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
MILLION = 1e6


class Cost(NamedTuple):
    """What a study took at a commit."""

    trials: int
    steps: Counter[str]
    """Instructions in each step, all trials."""
    by_page: dict[str, dict[str, float]]
    """Instructions a page programmed, by step and file system."""
    board_s: float
    """Seconds of the board's clock in all steps."""
    cpu_s: float
    """Processor time of the host, a boot not included; the least of all turns."""

    def figures(self) -> dict[str, Any]:
        """What the JSON says of it."""
        return {
            "trials": self.trials,
            "instructions_a_trial": round(self.steps.total() / self.trials),
            "instructions": dict(self.steps),
            "instructions_a_page": {
                step: {name: round(each) for name, each in of.items()}
                for step, of in self.by_page.items()
            },
            "cpu_s_a_trial": round(self.cpu_s / self.trials, 3),
            "board_s_per_cpu_s": round(self.board_s / self.cpu_s, 2),
        }


def run(
    checkout: Path, study: str, members: int, out: Path, bytecode: Path, *extra_words: str
) -> float:
    """Runs the study by a checkout's own code; processor seconds that it took.

    bytecode: the folder of compiled modules, of all checkouts.
    """
    words = ["run", study, "--members", str(members), "--jobs", "1", "--anew", "--out", str(out)]
    env = {name: value for name, value in os.environ.items() if name != NO_BYTECODE}
    env |= {"PYTHONPATH": str(checkout / "src"), "PYTHONPYCACHEPREFIX": str(bytecode)}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "nandlab", *words, "--progress", "plain", *extra_words],
        cwd=checkout,
        env=env,
        stdout=sys.stderr,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return float(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def instructions(step: dict[str, Any], shift: int) -> int:
    """The guest's instructions in a step of a trial's file.

    ValueError if the chip's counts of it are not known.
    """
    usage = step.get("usage")
    if usage is None or usage["warped_ns"] is None:
        raise ValueError(f"step {step['name']}: the record does not tell warped_ns")
    ns: int = step["ns"] - usage["warped_ns"]
    return ns >> shift


def read(folder: Path, cpu_s: float) -> Cost:
    """What the trials of a run's folder took; other commits have other models, so no model's."""
    head = json.loads((folder / "run.json").read_text())
    shift = head["provenance"]["board"]["icount_shift"]
    trials = [json.loads(file.read_text()) for file in sorted(folder.glob("trials/*.json"))]
    steps, board_ns = Counter[str](), 0
    spent = {name: Counter[str]() for name in PROGRAMMING}
    pages = {name: Counter[str]() for name in PROGRAMMING}
    for trial in trials:
        if trial["status"] != "ok":
            raise ValueError(f"{trial['id']}: {trial['status']}: {trial['error']}")
        for step in trial["steps"]:
            name, took = step["name"], instructions(step, shift)
            steps[name] += took
            board_ns += step["ns"]
            if name in PROGRAMMING:
                spent[name][trial["filesystem"]] += took
                pages[name][trial["filesystem"]] += step["chip"]["programs"]
    by_page = {
        name: {fs: spent[name][fs] / programmed for fs, programmed in of.items() if programmed}
        for name, of in pages.items()
    }
    return Cost(len(trials), steps, by_page, board_ns / 1e9, cpu_s)


def measured(checkouts: list[Path], study: str, members: int, turns: int) -> list[Cost]:
    """What the study costs at each checkout; their boards are made first, unmeasured.

    ValueError if a turn has other instructions than the turn before it.
    """
    costs = dict[Path, Cost]()
    with tempfile.TemporaryDirectory() as folder:
        bytecode = Path(folder, "bytecode")
        for turn, checkout in product(range(turns + 1), checkouts):
            out, shard = Path(folder, "run"), [] if turn else ["--shard", ONE_TRIAL]
            cost = read(out, run(checkout, study, members, out, bytecode, *shard))
            shutil.rmtree(out)
            if turn < 2:
                costs[checkout] = cost
            elif cost.steps != costs[checkout].steps:
                raise ValueError(f"{checkout}: turn {turn} has other instructions")
            else:
                least = min(cost.cpu_s, costs[checkout].cpu_s)
                costs[checkout] = cost._replace(cpu_s=least)
    return [*costs.values()]


@contextmanager
def worktree(commit: str) -> Iterator[Path]:
    """A checkout of a commit, for as long as it is used."""
    with tempfile.TemporaryDirectory() as folder:
        checkout = Path(folder, "checkout")
        git = ["git", "-C", str(REPO), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(checkout), commit], check=True)
        try:
            yield checkout
        finally:
            subprocess.run([*git, "remove", "--force", str(checkout)], check=True)


def line(name: str, *values: float | None) -> None:
    """A line of the table: a value of this commit, of the other one, and their ratio."""
    now, before = values
    told = [f"{value:12,.2f}" if value is not None else f"{'-':>12}" for value in (before, now)]
    ratio = f"{now / before:8.3f}" if before and now is not None else ""
    print(f"{name:34} {' '.join(told)} {ratio}")


def table(now: Cost, before: Cost | None) -> None:
    """Prints a cost beside another."""
    print(f"{'':34} {'before':>12} {'now':>12} {'ratio':>8}")
    old = before.steps if before else Counter[str]()
    for name in dict.fromkeys([*now.steps, *old]):
        values = (amount[name] / MILLION if name in amount else None for amount in (now.steps, old))
        line(f"{name}, million instructions", *values)
    for step, amounts in now.by_page.items():
        for name, amount in sorted(amounts.items()):
            other = before.by_page[step].get(name) if before else None
            line(f"{step}, instructions a page, {name}", amount, other)
    line("a trial, million instructions", *(a_trial(cost) for cost in (now, before)))
    line("a trial, s of processor", *(cost and cost.cpu_s / cost.trials for cost in (now, before)))
    speed = (cost and cost.board_s / cost.cpu_s for cost in (now, before))
    line("board's s per s of processor", *speed)


def a_trial(cost: Cost | None) -> float | None:
    """Million instructions a trial."""
    return cost and cost.steps.total() / cost.trials / MILLION


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("study", nargs="?", default="quickstart", help="a shipped study, or a file")
    parser.add_argument("--against", metavar="COMMIT", help="the commit to compare with")
    parser.add_argument("--members", type=int, default=1)
    parser.add_argument("--turns", type=int, default=1, choices=range(1, 100), metavar="N")
    options = parser.parse_args()
    file = Path(options.study)
    study = str(file.resolve()) if file.is_file() else options.study  # they run in other folders
    how = (study, options.members, options.turns)
    if options.against:
        with worktree(options.against) as there:
            now, before = measured([REPO, there], *how)
    else:
        (now,), before = measured([REPO], *how), None
    table(now, before)
    summary: dict[str, Any] = {"study": options.study, "now": now.figures()}
    if before is None:
        print(json.dumps(summary))
        return 0
    of_now, of_before = now.figures(), before.figures()
    figures = ("instructions_a_trial", "cpu_s_a_trial")
    ratios = {name: round(of_now[name] / of_before[name], 3) for name in figures}
    print(json.dumps({**summary, "before": of_before, "ratios": ratios, "bar": BAR}))
    return int(max(ratios.values()) > BAR)


if __name__ == "__main__":
    sys.exit(main())
