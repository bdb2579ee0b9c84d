# SPDX-License-Identifier: GPL-2.0-or-later
"""How a run shows itself: bars on a terminal, a line per trial elsewhere, JSON for scripts.

All of it goes to standard error; standard output is for what the command was asked for.
"""

from __future__ import annotations

import json
import sys
from typing import Any, Literal

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from nandlab.results import Trial
from nandlab.run import Watcher
from nandlab.study import TrialSpec

Style = Literal["auto", "bar", "plain", "json", "none"]


def watcher(style: Style) -> Watcher:
    """The watcher of a style; auto is bars on a terminal and plain lines elsewhere."""
    if style == "auto":
        style = "bar" if sys.stderr.isatty() else "plain"
    return {"bar": Bars, "plain": Lines, "json": JsonLines, "none": Silent}[style]()


def _ending(result: Trial) -> str:
    return "ok" if result.ok else f"{result.status.replace('_', ' ')}: {result.error}"


class Silent:
    """Shows nothing."""

    def run_begins(self, todo: int, done: int) -> None:
        """See Watcher."""

    def trial_begins(self, spec: TrialSpec) -> None:
        """See Watcher."""

    def step_begins(self, spec: TrialSpec, step: str) -> None:
        """See Watcher."""

    def trial_ends(self, spec: TrialSpec, result: Trial) -> None:
        """See Watcher."""


class Lines(Silent):
    """A line as each trial ends."""

    def run_begins(self, todo: int, done: int) -> None:
        self._left, self._all, self._done = todo, todo + done, done
        print(f"{todo} trials to run, {done} done before", file=sys.stderr, flush=True)

    def trial_ends(self, spec: TrialSpec, result: Trial) -> None:
        self._done += 1
        seconds = result.host.seconds if result.host else 0.0
        text = f"[{self._done}/{self._all}] {spec.title()}: {_ending(result)} ({seconds:.1f} s)"
        print(text, file=sys.stderr, flush=True)


class JsonLines(Silent):
    """A JSON object per event."""

    def _say(self, event: str, **fields: Any) -> None:
        print(json.dumps({"event": event, **fields}), file=sys.stderr, flush=True)

    def run_begins(self, todo: int, done: int) -> None:
        self._say("run_begins", todo=todo, done=done)

    def trial_begins(self, spec: TrialSpec) -> None:
        self._say("trial_begins", trial=spec.id)

    def step_begins(self, spec: TrialSpec, step: str) -> None:
        self._say("step_begins", trial=spec.id, step=step)

    def trial_ends(self, spec: TrialSpec, result: Trial) -> None:
        self._say("trial_ends", trial=spec.id, status=result.status, error=result.error)


class Bars(Silent):
    """One bar for the run with the time left, and a row for each trial under way."""

    def __init__(self) -> None:
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._rows: dict[str, TaskID] = {}

    def run_begins(self, todo: int, done: int) -> None:
        self._run = self._progress.add_task("trials", total=todo + done, completed=done)
        self._left = todo
        if todo:
            self._progress.start()

    def trial_begins(self, spec: TrialSpec) -> None:
        self._rows[spec.id] = self._progress.add_task(spec.title(), total=7)

    def step_begins(self, spec: TrialSpec, step: str) -> None:
        row = self._rows[spec.id]
        self._progress.update(row, advance=1, description=f"{spec.title()}: {step}")

    def trial_ends(self, spec: TrialSpec, result: Trial) -> None:
        self._progress.remove_task(self._rows.pop(spec.id))
        self._progress.advance(self._run)
        if not result.ok:
            self._progress.console.print(f"{spec.title()}: {_ending(result)}")
        self._left -= 1
        if not self._left:
            self._progress.stop()
