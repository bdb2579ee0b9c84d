# SPDX-License-Identifier: GPL-2.0-or-later
"""A run's figures to take away: the main ones in words, every one for programs, or one alone."""

from __future__ import annotations

from collections.abc import Sequence

from nandlab.analysis import answers, shipping
from nandlab.analysis.figures import Figure
from nandlab.analysis.groups import Ensemble, Setting, group
from nandlab.analysis.limits import of_study
from nandlab.analysis.named import known, meant, names
from nandlab.analysis.views import view
from nandlab.base import units
from nandlab.report import tables
from nandlab.report.sheets import Record, Sheet, markdown, plain, rendered, values
from nandlab.results.folder import Results

COLUMNS = (
    *("workload", "setting", "filesystem", "configuration", "state", "figure", "title", "unit"),
    *("trials", "min", "median", "max"),
)
"""Names of a record's values; min, median and max are over the trials, in ``unit``."""


def run(folder: Results, form: str) -> str:
    """The run as markdown, its advice and main figures; or as csv or json, every figure."""
    settings = group(folder.trials())
    if form == "markdown":
        return markdown([_main(s) for s in settings], _lead(folder, settings))
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


def _lead(folder: Results, settings: Sequence[Setting]) -> list[str]:
    """The question, what was measured on, what to be careful of, and the advice."""
    head, trials = folder.head(), [t for s in settings for t in s.trials]
    board = f"Board {head.board_id}, commit of nandlab {head.commit or 'not known'}."
    lead = [head.question, board, *answers.caveats(head, trials, folder.missing())]
    lead += folder.notes
    limits = of_study(head.spec)
    ship = shipping.answer(head.spec, settings, limits)
    lead += shipping.lines(ship)[:-1] if ship else []
    for setting in settings:
        told = ship is not None and ship.has(setting)
        advised = None if told else view(setting).advise(setting, limits)
        lead += [f"{setting.title}: {s}" for s in advised.sentences] if advised else []
    ends = (f"{t.id}: {t.status}: {t.error}" for t in trials if not t.ok)
    return [*lead, *ends]


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
