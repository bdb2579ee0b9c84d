# SPDX-License-Identifier: GPL-2.0-or-later
"""What a bisection found: words and the table of moved figures, or one JSON object."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from nandlab.analysis.figures.figure import Figure
from nandlab.base import units
from nandlab.base.printer import format_json
from nandlab.base.strings import Digest, FreeText, Line
from nandlab.catalog.noun import StrictModel
from nandlab.history.bisection import Bisection, Mark, Step
from nandlab.history.gittree import Commit
from nandlab.report.tables import figurechanges
from nandlab.report.tables.figurechanges import FigureChangeRecord
from nandlab.report.tables.sheets import Number, drop_zero_fraction

SUSPECTS_SHOWN_MAX = 20


class CommitRecord(StrictModel):
    """A commit, and the figure at it."""

    commit: Digest
    subject: FreeText
    value: Number | None = Field(description="null: it has no run")


class StepRecord(CommitRecord):
    """A commit that git chose."""

    mark: Mark
    reason: FreeText = Field(description="why it was skipped; empty: it was not")


class BisectionRecord(StrictModel):
    """The commit that changed a figure."""

    figure: Line
    unit: Line = Field(description="of values; empty: a plain number")
    trial: Line = Field(description="the one that judges")
    good: CommitRecord
    bad: CommitRecord
    first_bad: list[CommitRecord] = Field(description="several: those between do not run")
    before: CommitRecord | None = Field(description="the parent of the one commit")
    steps: list[StepRecord]
    changes: list[FigureChangeRecord] = Field(description="all figures that the commit moved")


def render_bisection(result: Bisection, form: str) -> str:
    """The result as text or json."""
    if form == "json":
        return format_json(make_bisection_record(result).model_dump(mode="json"))
    lines = "\n".join(_format_lines(result))
    changes = figurechanges.render_figure_changes(result.changes, "text") if result.changes else ""
    return f"{lines}\n" + (f"\n{changes}" if changes else "")


def _format_lines(result: Bisection) -> Iterator[str]:
    figure, name = result.figure.figure, result.figure.figure.name
    before, after = result.values
    if result.before is None:
        yield f"{len(result.suspects)} commits may have changed {name}; those between do not run:"
        yield from (f"  {commit.title}" for commit in result.suspects[:SUSPECTS_SHOWN_MAX])
        if len(result.suspects) > SUSPECTS_SHOWN_MAX:
            yield f"  and {len(result.suspects) - SUSPECTS_SHOWN_MAX} more"
    else:
        (commit,) = result.suspects
        yield f"{commit.sha} changed {name}"
        yield f"  {commit.subject}"
        yield f"  before: {_format_value(figure, before)} ({result.before.title})"
        yield f"  after:  {_format_value(figure, after)}{_format_growth(before, after)}"
    yield f"  trial:  {result.figure.trial}"
    for step in result.skipped:
        yield f"  skipped: {step.commit.title}: {step.reason}"
    if after is not None and after != result.figure.bad:
        bad = _format_value(figure, result.figure.bad)
        yield f"  later commits change it again: {result.request.bad.title} has {bad}"
        yield f"  to find them: the same command with --good {result.suspects[0].short}"


def format_step_end(step: Step, figure: str) -> str:
    """A step in a line: the commit, the figure, and what git was told."""
    value = "" if step.value is None else f"{figure} {units.format_exact(step.value)}: "
    reason = f"skipped: {step.reason}" if step.mark == "skip" else step.mark
    return f"{step.commit.title}: {value}{reason}"


def _format_value(figure: Figure, value: float | None) -> str:
    return units.MISSING if value is None else figure.quantity.exact(value)


def _format_growth(before: float | None, after: float | None) -> str:
    if before is None or after is None:
        return ""
    return f" ({figurechanges.format_signed_change(after - before)})"


def make_bisection_record(result: Bisection) -> BisectionRecord:
    """The result for programs."""
    before, after = result.values
    return BisectionRecord(
        figure=result.figure.figure.name,
        unit=result.figure.figure.quantity.base,
        trial=result.figure.trial,
        good=_make_commit_record(result.request.good, result.figure.good),
        bad=_make_commit_record(result.request.bad, result.figure.bad),
        first_bad=[_make_commit_record(commit, after) for commit in result.suspects],
        before=_make_commit_record(result.before, before) if result.before else None,
        steps=[_make_step_record(step) for step in result.steps],
        changes=figurechanges.list_figure_change_records(result.changes),
    )


def _make_commit_record(commit: Commit, value: float | None) -> CommitRecord:
    return CommitRecord(commit=commit.sha, subject=commit.subject, value=drop_zero_fraction(value))


def _make_step_record(step: Step) -> StepRecord:
    return StepRecord(
        **dict(_make_commit_record(step.commit, step.value)), mark=step.mark, reason=step.reason
    )
