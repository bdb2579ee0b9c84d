# SPDX-License-Identifier: GPL-2.0-or-later
"""A run's figures to take away: the main ones in words, every one for programs, or one alone."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from nandlab.analysis.figures.figure import Figure
from nandlab.analysis.figures.figurenames import (
    list_figure_names_of_settings,
    list_figure_names_of_trials,
    match_figure_names,
)
from nandlab.analysis.figures.groups import Ensemble, Setting, group_trials_into_settings
from nandlab.analysis.verdicts import caveats, verdict, verdictmaker
from nandlab.analysis.verdicts.verdict import Verdict
from nandlab.analysis.verdicts.views import find_setting_view
from nandlab.base import units
from nandlab.base.strings import FreeText, Line
from nandlab.report.tables import tables, verdicttext
from nandlab.report.tables.sheets import (
    Number,
    Sheet,
    SheetRecord,
    drop_zero_fraction,
    escape_markdown,
    render_markdown_sheets,
    render_sheets,
)
from nandlab.results.folder import Results
from nandlab.results.record import Trial


class FigureRecord(SheetRecord):
    """A figure of a configuration over its ensemble."""

    workload: Line
    setting: FreeText
    filesystem: Line
    configuration: FreeText
    state: Line
    figure: Line = Field(description="its name (docs/workloads.md)")
    title: FreeText
    unit: Line = Field(description="of min, median and max; empty: a plain number")
    trials: int = Field(description="that ended well and have it")
    min: Number | None
    median: Number | None
    max: Number | None


def render_run_figures(folder: Results, form: str) -> str:
    """The run as markdown, its advice and main figures; in another format its main figures, and of
    records every figure."""
    settings = group_trials_into_settings(folder.trials())
    if form == "markdown":
        return _render_markdown(folder, settings)
    records = [
        _make_record(s, e, s.figure(name))
        for s in settings
        for e in s.ensembles
        for name in list_figure_names_of_trials(e.trials, s.words)
    ]
    sheets = [_make_main_sheet(s) for s in settings]
    return render_sheets(form, sheets, [], FigureRecord, records)


def render_named_figures(folder: Results, pattern: str, form: str) -> str:
    """The figures of a name, or of a pattern: a line or a record for each configuration.

    UsageError, with the nearest names, if no trial has such a figure.
    """
    settings = group_trials_into_settings(folder.trials())
    figure_names = match_figure_names(pattern, list_figure_names_of_settings(settings))
    figures_by_setting = [
        (
            s,
            [
                s.figure(n)
                for n in list_figure_names_of_trials(s.trials, s.words)
                if n in figure_names
            ],
        )
        for s in settings
    ]
    sheets = [
        _make_figures_sheet(setting, figures) for setting, figures in figures_by_setting if figures
    ]
    records = [
        _make_record(s, e, figure)
        for s, figures in figures_by_setting
        for figure in figures
        for e in s.ensembles
    ]
    return render_sheets(form, sheets, [], FigureRecord, records)


def _render_markdown(folder: Results, settings: Sequence[Setting]) -> str:
    """The answer in a line, the verdicts with what is open, then the main figures."""
    trials = [t for s in settings for t in s.trials]
    verdicts = verdictmaker.make_run_verdicts_from_trials(
        folder.head().spec, trials, folder.naming()
    )
    parts = [
        render_markdown_sheets(
            [], _list_lead_lines(folder, verdict.format_run_answer(verdicts), trials)
        )
    ]
    parts += [
        render_markdown_sheets([verdicttext.make_verdict_sheet(v)]) + _below(v)
        for v in verdicts
        if v.rows
    ]
    parts += [
        render_markdown_sheets([verdicttext.make_possible_changes_sheet(v)])
        for v in verdicts
        if v.changes
    ]
    notes = [note for v in verdicts for note in v.notes]
    notes += verdict.list_first_write_lines(verdicts)
    notes_and_gaps = [
        *notes,
        *(f"Open: {text}" for text in verdicttext.format_verdict_gap_lines(verdicts)),
    ]
    failures = [f"{t.id}: {t.status}: {t.error}" for t in trials if not t.ok]
    parts += [
        render_markdown_sheets([], [*notes_and_gaps, *failures]),
        render_markdown_sheets([_make_main_sheet(s) for s in settings]),
    ]
    return "\n".join(filter(None, parts))


def _below(verdict: Verdict) -> str:
    """What stands below a verdict's table: what its states hold, and its sentence."""
    lines = filter(None, ["; ".join(verdict.holding), verdict.sentence])
    return "".join(f"\n{escape_markdown(line)}\n" for line in lines)


def _list_lead_lines(folder: Results, answer: str, trials: Sequence[Trial]) -> list[str]:
    """The question and its answer, what was measured on, and what to be careful of."""
    head = folder.head()
    board = f"{head.measured_on[:1].upper()}{head.measured_on[1:]}."
    limiting = caveats.list_caveats(head, trials, folder.missing())
    return [head.question, answer, board, *limiting, *folder.notes]


def _make_main_sheet(setting: Setting) -> Sheet:
    """The figures that the terminal has of a setting."""
    named = dict.fromkeys(
        name for block in find_setting_view(setting).blocks(setting) for name in block.figures
    )
    columns = [tables.make_figure_column(setting.figure(name)) for name in named]
    table = tables.make_ensemble_table(setting.ensembles, columns)
    rows = [(f"{r.subject}, {r.state}", r.count, *(c.text for c in r.cells)) for r in table.rows]
    return Sheet(setting.title, ("configuration", "n", *table.head), rows)


def _make_figures_sheet(setting: Setting, figures: Sequence[Figure]) -> Sheet:
    """One figure under its name and unit; of several, a row each for a configuration."""
    pairs = [(e, f) for f in figures for e in setting.ensembles]
    if len(figures) == 1:
        alone = ("configuration", _format_figure_name(figures[0]), "range", "n")
        return Sheet(
            setting.title,
            alone,
            [(e.label, *_format_median(e, f), tables.format_trial_count(e)) for e, f in pairs],
        )
    head = ("configuration", "figure", "median", "range", "n")
    return Sheet(
        setting.title,
        head,
        [
            (e.label, _format_figure_name(f), *_format_median(e, f), tables.format_trial_count(e))
            for e, f in pairs
        ],
    )


def _format_figure_name(figure: Figure) -> str:
    unit = figure.quantity.base
    return f"{figure.name}, {unit}" if unit else figure.name


def _format_median(e: Ensemble, figure: Figure) -> tuple[str, str]:
    found = e.spread(figure)
    if not found:
        return units.MISSING, units.MISSING
    return units.format_exact(found.median), found.extent(figure.form)


def _make_record(setting: Setting, e: Ensemble, figure: Figure) -> FigureRecord:
    spread = e.spread(figure)
    low, middle, high = spread.marks if spread else (None, None, None)
    return FigureRecord(
        workload=setting.workload,
        setting=setting.title,
        filesystem=e.first.filesystem,
        configuration=e.label,
        state=e.state,
        figure=figure.name,
        title=figure.title,
        unit=figure.quantity.base,
        trials=spread.n if spread else 0,
        min=drop_zero_fraction(low),
        median=drop_zero_fraction(middle),
        max=drop_zero_fraction(high),
    )
