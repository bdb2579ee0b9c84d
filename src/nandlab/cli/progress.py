# SPDX-License-Identifier: GPL-2.0-or-later
"""A run's progress: bars on a terminal, a line per trial elsewhere, JSON for scripts.

All of it goes to standard error; standard output is for what the command was asked for.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Column

from nandlab.base.console import Console, escape_rich_markup
from nandlab.base.printable import make_printable
from nandlab.base.printer import format_json, is_stderr_terminal, print_note
from nandlab.cli.arguments import Style
from nandlab.cli.preparation import print_heartbeats
from nandlab.cli.progressevents import Event, RunBegins, StepBegins, TrialBegins, TrialEnds
from nandlab.plan.trialspec import TrialSpec, make_trial_labels
from nandlab.results.record import Trial
from nandlab.trial.runner import Watcher


def make_progress_watcher(style: Style) -> Watcher:
    """The watcher of a style; auto is bars on a terminal and plain lines elsewhere."""
    if style == "auto":
        style = "bar" if is_stderr_terminal() else "plain"
    return {"bar": BarWatcher, "plain": LineWatcher, "json": JsonWatcher, "none": SilentWatcher}[
        style
    ]()


def print_heartbeats_during_run(watch: Watcher) -> AbstractContextManager[None]:
    """Around a run: where its progress is lines for people, none comes later than BEAT_S."""
    return print_heartbeats(watch.doing) if isinstance(watch, LineWatcher) else nullcontext()


def _format_ending(result: Trial) -> str:
    return "ok" if result.ok else f"{result.status.replace('_', ' ')}: {result.error}"


BAR_WIDTH = 12
"""Letters of a bar: with the others it leaves half of 80 columns to what is under way."""
LATE_SHARE_MIN = 0.1
"""A running trial is expected to need at least this share of the time that it has taken so far."""


class PaceEstimate:
    """Estimates the time left from the trials that have ended.

    A trial is expected to take the median time of its configuration. While no trial of its
    configuration has ended, it is expected to take the mean time of all. Configurations differ
    tenfold; the members of one hardly differ.
    """

    def __init__(
        self, todo: Sequence[TrialSpec], durations: Mapping[str, Sequence[float]], jobs: int
    ) -> None:
        self._remaining = {s.id: s.configuration() for s in todo}
        self._took = {k: list(v) for k, v in durations.items()}
        self._jobs = jobs
        self._began: dict[str, float] = {}

    def begins(self, spec: TrialSpec, now: float) -> None:
        self._began[spec.id] = now

    def ends(self, spec: TrialSpec, seconds: float) -> None:
        self._remaining.pop(spec.id)
        self._began.pop(spec.id, None)
        self._took.setdefault(spec.configuration(), []).append(seconds)

    def left_s(self, now: float) -> float | None:
        """Host seconds until the run ends; None while no trial has ended."""
        every = [seconds for took in self._took.values() for seconds in took]
        if not every:
            return None
        usual = statistics.fmean(every)
        work = 0.0
        for trial, configuration in self._remaining.items():
            took = self._took.get(configuration)
            expected = statistics.median(took) if took else usual
            since = now - self._began.get(trial, now)
            work += max(expected - since, LATE_SHARE_MIN * since)
        return work / min(self._jobs, max(1, len(self._remaining)))


def format_time_left(seconds: float | None) -> str:
    """The time left, such as ``about 1 h 5 min left``."""
    if seconds is None:
        return "time left unknown"
    if seconds < 90:
        return f"about {seconds:.0f} s left"
    minutes = round(seconds / 60)
    hours = f"{minutes // 60} h " if minutes >= 60 else ""
    return f"about {hours}{minutes % 60} min left"


def format_short_time_left(seconds: float | None) -> str:
    """The time left for a column: ``1 h 5 min``, ``40 s``; empty while it is not known."""
    return "" if seconds is None else format_time_left(seconds).removeprefix("about ")


class SilentWatcher:
    """Shows nothing."""

    def run_begins(
        self, todo: Sequence[TrialSpec], durations: Mapping[str, Sequence[float]], jobs: int
    ) -> None:
        """See Watcher."""

    def trial_begins(self, spec: TrialSpec) -> None:
        """See Watcher."""

    def step_begins(self, spec: TrialSpec, step: str) -> None:
        """See Watcher."""

    def trial_ends(self, spec: TrialSpec, result: Trial) -> None:
        """See Watcher."""


class TimedWatcher(SilentWatcher):
    """Counts trials and estimates the time left."""

    def run_begins(
        self, todo: Sequence[TrialSpec], durations: Mapping[str, Sequence[float]], jobs: int
    ) -> None:
        self._labels = make_trial_labels(todo)
        self._ended_count = sum(len(took) for took in durations.values())
        self._all = len(todo) + self._ended_count
        self._pace = PaceEstimate(todo, durations, jobs)

    def trial_begins(self, spec: TrialSpec) -> None:
        self._pace.begins(spec, time.monotonic())

    def trial_ends(self, spec: TrialSpec, result: Trial) -> None:
        self._ended_count += 1
        self._pace.ends(spec, result.host.seconds if result.host else 0.0)

    def _estimate_left_s(self) -> float | None:
        return self._pace.left_s(time.monotonic())


class LineWatcher(TimedWatcher):
    """Prints a line as each trial ends, and one of what is under way where that takes long."""

    def __init__(self) -> None:
        self._under_way: dict[str, tuple[str, float]] = {}
        self._begun = False

    def run_begins(
        self, todo: Sequence[TrialSpec], durations: Mapping[str, Sequence[float]], jobs: int
    ) -> None:
        super().run_begins(todo, durations, jobs)
        self._begun = True
        left = f", {format_time_left(self._estimate_left_s())}" if todo and durations else ""
        print_note(f"{len(todo)} trials to run, {self._ended_count} done before{left}")

    def trial_begins(self, spec: TrialSpec) -> None:
        super().trial_begins(spec)
        self.step_begins(spec, "begins")

    def step_begins(self, spec: TrialSpec, step: str) -> None:
        self._under_way[spec.id] = step, time.monotonic()

    def doing(self) -> str:
        """The trial that is longest at one step, and the time left."""
        if not self._begun:
            return "preparing the trials"
        if not self._under_way:
            return f"[{self._ended_count}/{self._all}]"
        trial, (step, since) = min(self._under_way.items(), key=lambda each: each[1][1])
        seconds = f"{time.monotonic() - since:.0f} s"
        words = f"[{self._ended_count}/{self._all}] {self._labels[trial]}: {step} for {seconds}"
        return f"{words}, {format_time_left(self._estimate_left_s())}"

    def trial_ends(self, spec: TrialSpec, result: Trial) -> None:
        super().trial_ends(spec, result)
        self._under_way.pop(spec.id, None)
        seconds = result.host.seconds if result.host else 0.0
        time_left = (
            f", {format_time_left(self._estimate_left_s())}"
            if self._ended_count < self._all
            else ""
        )
        label = self._labels[spec.id]
        text = (
            f"[{self._ended_count}/{self._all}] {label}: {_format_ending(result)} ({seconds:.1f} s)"
        )
        print_note(text + time_left)


class JsonWatcher(TimedWatcher):
    """Prints a JSON object for each event."""

    def _print(self, event: Event) -> None:
        print_note(format_json(event.model_dump(mode="json"), indent=None).rstrip())

    def run_begins(
        self, todo: Sequence[TrialSpec], durations: Mapping[str, Sequence[float]], jobs: int
    ) -> None:
        super().run_begins(todo, durations, jobs)
        self._print(
            RunBegins(todo=len(todo), done=self._ended_count, left_s=self._estimate_left_s())
        )

    def trial_begins(self, spec: TrialSpec) -> None:
        super().trial_begins(spec)
        self._print(TrialBegins(trial=spec.id, title=spec.title()))

    def step_begins(self, spec: TrialSpec, step: str) -> None:
        self._print(StepBegins(trial=spec.id, step=step))

    def trial_ends(self, spec: TrialSpec, result: Trial) -> None:
        super().trial_ends(spec, result)
        left_s = self._estimate_left_s()
        self._print(
            TrialEnds(
                trial=spec.id,
                status=result.status,
                error=result.error,
                left_s=None if left_s is None else round(left_s, 1),
            )
        )


class BarWatcher(TimedWatcher):
    """Draws one bar for the run, with the time left, and a row for each trial under way.

    The first column takes what the others leave of the terminal's width, and is cut to it.
    """

    def __init__(self) -> None:
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn(
                "{task.description}",
                markup=False,
                table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis"),
            ),
            BarColumn(BAR_WIDTH),
            TextColumn("{task.fields[count]}", table_column=Column(justify="right", no_wrap=True)),
            TimeElapsedColumn(table_column=Column(no_wrap=True)),
            TextColumn("{task.fields[left]}", table_column=Column(no_wrap=True)),
            console=Console(stderr=True),
            transient=True,
            expand=True,
        )
        self._rows: dict[str, TaskID] = {}

    def run_begins(
        self, todo: Sequence[TrialSpec], durations: Mapping[str, Sequence[float]], jobs: int
    ) -> None:
        super().run_begins(todo, durations, jobs)
        self._run = self._progress.add_task(
            "trials", total=self._all, completed=self._ended_count, **self._make_fields()
        )
        if todo:
            self._progress.start()

    def _make_fields(self) -> dict[str, Any]:
        """How many trials are done, and the time left."""
        return {
            "count": f"{self._ended_count}/{self._all}",
            "left": format_short_time_left(self._estimate_left_s()),
        }

    def trial_begins(self, spec: TrialSpec) -> None:
        super().trial_begins(spec)
        label = make_printable(self._labels[spec.id])
        self._rows[spec.id] = self._progress.add_task(label, total=None, left="", count="")

    def step_begins(self, spec: TrialSpec, step: str) -> None:
        label = make_printable(f"{self._labels[spec.id]}: {step}")
        self._progress.update(self._rows[spec.id], advance=1, description=label)

    def trial_ends(self, spec: TrialSpec, result: Trial) -> None:
        super().trial_ends(spec, result)
        self._progress.remove_task(self._rows.pop(spec.id))
        self._progress.update(self._run, advance=1, **self._make_fields())
        if not result.ok:
            self._progress.console.print(
                escape_rich_markup(f"{spec.title()}: {_format_ending(result)}")
            )
        if self._ended_count == self._all:
            self._progress.stop()
