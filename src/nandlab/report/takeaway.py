# SPDX-License-Identifier: GPL-2.0-or-later
"""A run's figures to take away: the main ones in words, every one for programs, or one alone."""

from __future__ import annotations

from collections.abc import Sequence

from nandlab.analysis import answers, judging, verdict
from nandlab.analysis.figures import Figure
from nandlab.analysis.groups import Ensemble, Setting, group
from nandlab.analysis.named import known, meant, names
from nandlab.analysis.verdict import Verdict
from nandlab.analysis.views import view
from nandlab.base import units
from nandlab.report import tables, verdicts
from nandlab.report.sheets import Record, Sheet, markdown, plain, rendered, values, words
from nandlab.results.folder import Results
from nandlab.results.record import Trial

COLUMNS = (
    *("workload", "setting", "filesystem", "configuration", "state", "figure", "title", "unit"),
    *("trials", "min", "median", "max"),
)
"""Names of a record's values; min, median and max are over the trials, in ``unit``."""


def run(folder: Results, form: str) -> str:
    """The run as markdown, its advice and main figures; or as csv or json, every figure."""
    settings = group(folder.trials())
    if form == "markdown":
        return _markdown(folder, settings)
    found = [
        _record(s, e, s.figure(name))
        for s in settings
        for e in s.ensembles
        for name in names(e.trials, s.words)
    ]
    return values(form, COLUMNS, found)


def some(folder: Results, asked: str, form: str) -> str:
    """The figures of a name, or of a pattern: a line or a record for each configuration.

    UsageError, with the nearest names, if no trial has such a figure.
    """
    settings = group(folder.trials())
    wanted = meant(asked, known(settings))
    found = [(s, [s.figure(n) for n in names(s.trials, s.words) if n in wanted]) for s in settings]
    sheets = [_asked(setting, figures) for setting, figures in found if figures]
    told = [
        _record(s, e, figure) for s, figures in found for figure in figures for e in s.ensembles
    ]
    return rendered(form, sheets, [], COLUMNS, told)


def _markdown(folder: Results, settings: Sequence[Setting]) -> str:
    """The answer in a line, the verdicts with what is open, then the main figures."""
    trials = [t for s in settings for t in s.trials]
    found = judging.of_run(folder.head().spec, trials, folder.naming())
    parts = [markdown([], _lead(folder, verdict.answer(found), trials))]
    parts += [markdown([verdicts.sheet(v)]) + _below(v) for v in found if v.rows]
    parts += [markdown([verdicts.changes_sheet(v)]) for v in found if v.changes]
    notes = [note for v in found for note in v.notes]
    more = [*notes, *(f"Open: {text}" for text in verdicts.gap_lines(found))]
    ends = [f"{t.id}: {t.status}: {t.error}" for t in trials if not t.ok]
    parts += [markdown([], [*more, *ends]), markdown([_main(s) for s in settings])]
    return "\n".join(filter(None, parts))


def _below(verdict: Verdict) -> str:
    """What stands below a verdict's table: what its states hold, and its sentence."""
    lines = filter(None, ["; ".join(verdict.holding), verdict.sentence])
    return "".join(f"\n{words(line)}\n" for line in lines)


def _lead(folder: Results, answer: str, trials: Sequence[Trial]) -> list[str]:
    """The question and its answer, what was measured on, and what to be careful of."""
    head = folder.head()
    board = f"Board {head.board_id}{f', commit of nandlab {head.commit}' if head.commit else ''}."
    limiting = answers.caveats(head, trials, folder.missing())
    return [head.question, answer, board, *limiting, *folder.notes]


def _main(setting: Setting) -> Sheet:
    """The figures that the terminal has of a setting."""
    named = dict.fromkeys(name for block in view(setting).blocks(setting) for name in block.figures)
    columns = [tables.figure(setting.figure(name)) for name in named]
    table = tables.table(setting.ensembles, columns)
    rows = [(f"{r.subject}, {r.state}", r.count, *(c.text for c in r.cells)) for r in table.rows]
    return Sheet(setting.title, ("configuration", "n", *table.head), rows)


def _asked(setting: Setting, figures: Sequence[Figure]) -> Sheet:
    """One figure under its name and unit; of several, a row each for a configuration."""
    pairs = [(e, f) for f in figures for e in setting.ensembles]
    if len(figures) == 1:
        alone = ("configuration", _called(figures[0]), "range", "n")
        return Sheet(
            setting.title, alone, [(e.label, *_median(e, f), tables.count(e)) for e, f in pairs]
        )
    head = ("configuration", "figure", "median", "range", "n")
    return Sheet(
        setting.title,
        head,
        [(e.label, _called(f), *_median(e, f), tables.count(e)) for e, f in pairs],
    )


def _called(figure: Figure) -> str:
    unit = figure.quantity.base
    return f"{figure.name}, {unit}" if unit else figure.name


def _median(e: Ensemble, figure: Figure) -> tuple[str, str]:
    found = e.spread(figure)
    if not found:
        return units.MISSING, units.MISSING
    return units.exact(found.median), found.extent(figure.form)


def _record(setting: Setting, e: Ensemble, figure: Figure) -> Record:
    found = e.spread(figure)
    low, middle, high = found.marks if found else (None, None, None)
    values = (
        *(setting.workload, setting.title, e.first.filesystem, e.label, e.state),
        *(figure.name, figure.title, figure.quantity.base),
        *(found.n if found else 0, plain(low), plain(middle), plain(high)),
    )
    return dict(zip(COLUMNS, values, strict=True))
