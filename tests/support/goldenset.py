# SPDX-License-Identifier: GPL-2.0-or-later
"""The golden set: a few short trials, whose figures are held to the nanosecond on each board.

    python -m support.goldenset BOARD...          # make golden: tells what moved, writes the files
    python -m support.goldenset --check BOARD...  # make golden CHECK=1: status 1 if any moved

The trials are those of the studies ``golden/*.toml``: each file system, each instrument. A board's
figures are in ``golden/BOARD.json``, by study and file system, under the names that a trial has.
Nothing else is held: no key, no board's identity, no text. Each of the nine trials takes some
4 s of the processor.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from nandlab.analysis.differences.baselines import make_trial_from_figures
from nandlab.analysis.differences.compare import (
    drop_errorless_bits,
    index_items_by_name,
    list_value_differences,
)
from nandlab.analysis.differences.figurechanges import (
    list_configuration_changes,
    summarize_differences,
)
from nandlab.base.errors import NandlabError, UsageError
from nandlab.board.jobs.job import Board
from nandlab.board.opening import open_board
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import load_noun
from nandlab.plan import study
from nandlab.plan.trialspec import TrialSpec
from nandlab.report.tables import figurechanges
from nandlab.results.figuresfile import FIGURE_FIELDS, select_trial_figures
from nandlab.results.record import Trial
from nandlab.trial import execution
from nandlab.trial.runner import refuse_unsupported_kernel

FOLDER = Path(__file__).parents[1] / "golden"
BOARDS = ("apf27", "apf27-5.10", "apf27-6.12", "apf27-arm")
"""One of each kind: the default, older and newer kernels, another processor."""
Figures = dict[str, Any]
"""The figures of a trial, by name."""


@cache
def planned(board: str) -> dict[str, TrialSpec]:
    """The trials on a board, as ``STUDY-FILESYSTEM``; its kernel may lack what one needs."""
    return {
        f"{path.stem}-{spec.filesystem.name}": spec
        for path in sorted(FOLDER.glob("*.toml"))
        for spec in study.plan_trials(study.read_study_file(path, board))
    }


def lacked(spec: TrialSpec, board: Board) -> str | None:
    """What the board's kernel lacks for a trial; None: nothing."""
    try:
        refuse_unsupported_kernel([spec], board.kernel_config, "golden")
    except UsageError as e:
        return str(e)
    return None


def path_of(board: str) -> Path:
    return FOLDER / f"{board}.json"


@cache
def kept(board: str) -> dict[str, Figures]:
    """The golden figures of a board's trials; none of a board that has no file."""
    path = path_of(board)
    found: dict[str, Figures] = json.loads(path.read_text()) if path.exists() else {}
    return found


def figures(trial: Trial) -> Figures:
    """The figures of a trial that ended well, as they are kept."""
    if not trial.ok:
        raise NandlabError(f"{trial.id}: {trial.status}: {trial.error}")
    found = drop_errorless_bits(select_trial_figures(trial))
    return {
        name: found[name] for name in FIGURE_FIELDS if name != "id" and found[name] not in ([], {})
    }


def moved(name: str, before: Figures, trial: Trial) -> str:
    """What is not as it was in a trial, as ``nandlab check`` tells it; empty: nothing."""
    now = json.loads(json.dumps(figures(trial)))
    if not before:
        return f"{name}: it is new"
    sides = [
        {key: index_items_by_name(value) for key, value in side.items()} for side in (before, now)
    ]
    differences = list_value_differences(sides[0], sides[1], f"trials.{trial.id}")
    if not differences:
        return ""
    lines = [f"{name}: {len(differences)} values moved, the first is {differences[0]}"]
    try:
        pair = (
            make_trial_from_figures({"id": trial.id, **before}, trial),
            make_trial_from_figures({"id": trial.id, **now}, trial),
        )
    except ValidationError:  # what is kept is of another form of a trial
        return "\n".join([*lines, *map(str, differences)])
    return "\n".join(
        [
            *lines,
            figurechanges.render_figure_changes(
                list_configuration_changes([pair], summarize_differences({trial.id: differences})),
                "text",
            ),
        ]
    )


def run(spec: TrialSpec, board: Board) -> Trial:
    """A golden trial."""
    return asyncio.run(execution.run_trial(spec, board, "golden"))


async def _run_all(specs: Iterable[TrialSpec], board: Board) -> list[Trial]:
    free = asyncio.Semaphore(os.cpu_count() or 1)

    async def in_turn(spec: TrialSpec) -> Trial:
        async with free:
            return await execution.run_trial(spec, board, "golden")

    return await asyncio.gather(*map(in_turn, specs))


def make(name: str, *, check: bool) -> bool:
    """Runs a board's trials, tells what moved, and writes its file unless ``check``.

    Returns whether anything moved, came or went.
    """
    board = open_board(load_noun("boards", name, BoardModel), locked=True)
    specs = {key: spec for key, spec in planned(name).items() if not lacked(spec, board)}
    trials = dict(zip(specs, asyncio.run(_run_all(specs.values(), board)), strict=True))
    changes = [
        text for key, t in trials.items() if (text := moved(key, kept(name).get(key, {}), t))
    ]
    changes += [f"{key}: it is no golden trial any more" for key in kept(name) if key not in trials]
    print(*changes or [f"{name}: no figure moved: {len(trials)} trials"], sep="\n")
    if changes and not check:
        every = {key: figures(trial) for key, trial in trials.items()}
        path_of(name).write_text(json.dumps(every, indent=1) + "\n")
        print(f"written: {path_of(name)}")
    return bool(changes)


def main() -> int:
    parser = argparse.ArgumentParser(prog="make golden")
    parser.add_argument("boards", nargs="+", metavar="BOARD")
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    asked = parser.parse_args()
    found = [make(name, check=asked.check) for name in asked.boards]
    return int(asked.check and any(found))


if __name__ == "__main__":
    raise SystemExit(main())
