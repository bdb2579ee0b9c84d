# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures that moved: tables of words, records, and JUnit's XML."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree as ET

from pydantic import Field

from nandlab.analysis.differences.figurechanges import ConfigurationChange, FigureChange, FigureSide
from nandlab.analysis.figures.spread import Spread
from nandlab.base import units
from nandlab.base.strings import FreeText, Line
from nandlab.report.tables.sheets import (
    Number,
    Sheet,
    SheetRecord,
    drop_zero_fraction,
    render_sheets,
    render_text_sheets,
)

TABLE_HEAD = (
    *("figure", "before", "now", "change", "by trial", "range before", "range now", "in range"),
    "trials",
)
IN_RANGE_TEXT = {True: "yes", False: "no", None: units.MISSING}
NOT_XML_PATTERN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class FigureChangeRecord(SheetRecord):
    """A figure that moved between two runs; before and now are medians, or words."""

    setting: FreeText
    configuration: FreeText
    figure: Line
    unit: Line
    before: Number | FreeText | None
    before_min: Number | None
    before_max: Number | None
    now: Number | FreeText | None
    now_min: Number | None
    now_max: Number | None
    change: Number | None = Field(description="in unit")
    change_share: float | None = Field(description="of before")
    change_min: Number | None = Field(description="the least change of a trial, in unit")
    change_max: Number | None
    in_range: bool | None = Field(description="whether both ranges touch")
    trials_moved: int
    trials: int


def render_figure_changes(
    changes: Sequence[ConfigurationChange], form: str, setup_lines: Sequence[str] = ()
) -> str:
    """What moved as text, markdown, csv, json or junit.

    setup_lines: what the two sides did not have alike; text and markdown tell it first.
    """
    if form == "junit":
        return render_figure_changes_junit(changes)
    sheets = [_make_sheet(change) for change in changes if change.changed_figures]
    return render_sheets(
        form,
        sheets,
        [*setup_lines, format_figure_change_summary(changes)],
        FigureChangeRecord,
        list_figure_change_records(changes),
    )


def format_figure_change_lines(
    changes: Sequence[ConfigurationChange], setup_lines: Sequence[str]
) -> list[str]:
    """What the two sides did not have alike, then a line for each configuration that moved."""
    return [
        *setup_lines,
        format_figure_change_summary(changes),
        *(_format_configuration_change(change) for change in changes if change.changed_figures),
    ]


def _format_configuration_change(change: ConfigurationChange) -> str:
    """How many figures moved, and the one that its load is judged by."""
    first = next((m for m in change.changed_figures if m.name == change.headline), None)
    medians = "the same" if first is None else f"{_format_medians(first)}"
    n = len(change.changed_figures)
    count = f"{n} figure{'s' if n > 1 else ''} moved"
    return f"{change.title}: {count}; {change.headline} {medians}"


def _format_medians(m: FigureChange) -> str:
    """``1.14 s, now 1.15 s (+0.88 %)``."""
    sides = (s.median if isinstance(s, Spread) else None for s in (m.before, m.now))
    form = m.quantity.form if m.quantity else units.format_exact
    before, now = (units.MISSING if side is None else form(side) for side in sides)
    return f"{before}, now {now}{_format_share(m)}"


def format_figure_change_summary(changes: Sequence[ConfigurationChange]) -> str:
    """A sentence: whether anything moved."""
    moved, trials = (
        sum(bool(change.changed_figures) for change in changes),
        sum(len(change.trials) for change in changes),
    )
    if not moved:
        return f"No figure moved: all trials ({trials}) are the same, to the nanosecond."
    return f"Figures of {moved} of {len(changes)} configurations moved."


def list_figure_change_records(changes: Sequence[ConfigurationChange]) -> list[FigureChangeRecord]:
    """A record for each figure that moved."""
    return [_make_record(change, m) for change in changes for m in change.changed_figures]


def _make_record(change: ConfigurationChange, figure_change: FigureChange) -> FigureChangeRecord:
    before, before_min, before_max = _list_marks(figure_change.before)
    now, now_min, now_max = _list_marks(figure_change.now)
    _, change_min, change_max = _list_marks(figure_change.by_trial)
    return FigureChangeRecord(
        setting=change.setting,
        configuration=change.label,
        figure=figure_change.name,
        unit=figure_change.quantity.base if figure_change.quantity else "",
        before=before,
        before_min=before_min,
        before_max=before_max,
        now=now,
        now_min=now_min,
        now_max=now_max,
        change=drop_zero_fraction(figure_change.change),
        change_share=figure_change.share,
        change_min=change_min,
        change_max=change_max,
        in_range=figure_change.within,
        trials_moved=len(figure_change.trials),
        trials=len(change.trials),
    )


def _list_marks(side: FigureSide) -> tuple[str | float | None, float | None, float | None]:
    """Median, least and greatest; words stand for the median."""
    if isinstance(side, Spread):
        return (
            drop_zero_fraction(side.median),
            drop_zero_fraction(side.min),
            drop_zero_fraction(side.max),
        )
    return side, None, None


def _make_sheet(change: ConfigurationChange) -> Sheet:
    return Sheet(change.title, TABLE_HEAD, [_make_row(change, m) for m in change.changed_figures])


def _make_row(change: ConfigurationChange, figure_change: FigureChange) -> tuple[str, ...]:
    values = (
        _format_side(figure_change, figure_change.before),
        _format_side(figure_change, figure_change.now),
        _format_growth(figure_change),
        _format_trial_changes(figure_change),
    )
    extents = (
        _format_range(figure_change, figure_change.before),
        _format_range(figure_change, figure_change.now),
    )
    return (
        figure_change.name,
        *values,
        *extents,
        IN_RANGE_TEXT[figure_change.within],
        f"{len(figure_change.trials)} of {len(change.trials)}",
    )


def _format_side(m: FigureChange, side: FigureSide) -> str:
    if isinstance(side, Spread):
        return m.quantity.exact(side.median) if m.quantity else units.format_exact(side.median)
    return side or units.MISSING


def _format_range(m: FigureChange, side: FigureSide) -> str:
    if not isinstance(side, Spread) or side.n == 1 or m.quantity is None:
        return units.MISSING
    return side.extent(m.quantity.form)


def _format_growth(m: FigureChange) -> str:
    """``+1 (+0.24 %)``; the share is left out where there is none."""
    if m.change is None:
        return units.MISSING
    return f"{format_signed_change(m.change)}{_format_share(m)}"


def _format_share(m: FigureChange) -> str:
    """`` (+0.24 %)``; empty where there is none."""
    if not m.share:
        return ""
    return f" ({'+' if m.share > 0 else '-'}{units.format_three_figures(abs(m.share) * 100)} %)"


def _format_trial_changes(m: FigureChange) -> str:
    """From the least change in a trial to the greatest."""
    if m.by_trial is None or m.by_trial.n == 1:
        return units.MISSING
    return m.by_trial.extent(format_signed_change)


def format_signed_change(change: float) -> str:
    """A change with its sign: a count, or half of one, to the last digit, else to six figures."""
    size, sign = abs(change), "+" if change > 0 else "-" if change < 0 else ""
    return sign + (units.format_exact(size) if size % 0.5 == 0 else f"{size:,.6g}")


def render_figure_changes_junit(changes: Sequence[ConfigurationChange]) -> str:
    """JUnit's XML, which GitLab and others draw: a test a configuration, a failure if it moved."""
    failed = sum(bool(change.changed_figures) for change in changes)
    counts = {"tests": str(len(changes)), "failures": str(failed), "errors": "0"}
    root = ET.Element("testsuites", counts)
    suite = ET.SubElement(root, "testsuite", {"name": "nandlab check", **counts})
    for change in changes:
        case = ET.SubElement(
            suite,
            "testcase",
            {
                "classname": _remove_illegal_xml(change.setting),
                "name": _remove_illegal_xml(change.label),
            },
        )
        if change.changed_figures:
            first = change.changed_figures[0]
            values = (
                f"{first.name}: {_format_side(first, first.before)}, now "
                f"{_format_side(first, first.now)}"
            )
            message = f"{len(change.changed_figures)} moved, the first is {values}"
            ET.SubElement(
                case, "failure", {"message": _remove_illegal_xml(message)}
            ).text = _remove_illegal_xml(render_text_sheets([_make_sheet(change)]))
    ET.indent(root)
    return ET.tostring(root, "unicode", xml_declaration=True) + "\n"


def _remove_illegal_xml(said: str) -> str:
    """Words without what no XML may have."""
    return NOT_XML_PATTERN.sub("?", said)
