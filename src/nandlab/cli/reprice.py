# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab reprice``: a run's times on another part, foretold from what was counted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nandlab.base.errors import UsageError
from nandlab.base.printer import note, write_json, write_paragraphs
from nandlab.cli.drawing import draw, refuse_other_names
from nandlab.cli.words import RunArgument, named, pairs

if TYPE_CHECKING:
    from nandlab.analysis.groups import Setting
    from nandlab.analysis.reprice import Part
    from nandlab.report.repriced import Table
    from nandlab.results.folder import Results
    from nandlab.results.record import Trial


def reprice(
    run: RunArgument,
    to: Annotated[
        list[str],
        typer.Option(
            "--to",
            metavar="PART",
            help="a part of the catalog; may be repeated",
            autocompletion=named("chips"),
        ),
    ] = [],  # noqa: B006 - typer copies it
    sets: Annotated[
        list[str],
        typer.Option(
            "--set",
            metavar="KEY=NS",
            help="the run's own part with t_r_ns, t_prog_ns, t_bers_ns, t_rc_ns or t_wc_ns at "
            "another value; may be repeated",
        ),
    ] = [],  # noqa: B006
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
    chart: Annotated[
        Path | None, typer.Option("--chart", metavar="FILE", help="draw it: .svg or .png")
    ] = None,
) -> None:
    """Foretell a run's times on another part of the same geometry, from the operations it counted.

    Without --to and --set: for every part of the catalog that has the geometry of the run's chip.
    Nothing is run. A part of another geometry is refused, since the file system would write other
    pages. docs/reprice.md tells how far such figures were off when the parts were run.
    """
    from nandlab.catalog.files import keeping
    from nandlab.report import repriced
    from nandlab.results.nouns import of_trials
    from nandlab.trial.published import results

    refuse_other_names("--chart", chart)
    folder = results(run)
    settings = _settings(folder)
    values = {key: _ns(key, text) for key, text in pairs(sets, "--set").items()}
    with keeping(of_trials(folder.head(), folder.trials())):
        tables = [(s, _table(s, found)) for s in settings if (found := _targets(s, to, values))]
    if not tables:
        raise UsageError(f"{run}: no other part of the catalog has the geometry of its chip")
    if chart is not None and len(tables) > 1:
        many = f"the run has {len(tables)} settings, and a chart shows one"
        raise UsageError(f"--chart {chart}: {many}; give a run of one setting")
    if as_json:
        write_json([told for one in tables for told in repriced.as_json(*one)])
    else:
        phases = bool(to or sets)
        write_paragraphs(repriced.lines(*one, phases=phases) for one in tables)
        notes = [repriced.SAYS, repriced.BY_PHASES if phases else "", repriced.NO_LATENCY]
        note("", *filter(None, notes))
    if chart is not None:
        draw(chart, repriced.chart(*tables[0], "repriced"))


def _settings(folder: Results) -> list[Setting]:
    from nandlab.analysis.groups import group

    found = group(folder.trials())
    if not any(t.ok for setting in found for t in setting.trials):
        raise UsageError(f"{folder.path}: no trial of this run has ended well")
    return found


def _ns(key: str, text: str) -> int:
    if not re.fullmatch("[0-9]{1,13}", text) or int(text) > 10**12:
        raise UsageError(f"--set {key}={text}: give whole nanoseconds, 0 to 10^12")
    return int(text)


def _targets(setting: Setting, to: Sequence[str], values: Mapping[str, int]) -> list[Part]:
    """What to foretell for; UsageError for a named part that no trial here could stand for."""
    from nandlab.analysis.reprice import changed

    first = next((t for t in setting.trials if t.ok), None)
    if first is None:
        return []
    named = [_named(name, first) for name in to]
    own = [changed(first, values)] if values else []
    return [*named, *own] or list(_alike(first))


def _named(name: str, trial: Trial) -> Part:
    from nandlab.analysis.reprice import Part, unlike
    from nandlab.catalog.chip import ChipModel
    from nandlab.catalog.files import load

    model = load("chips", name, ChipModel)
    if differs := unlike(trial, model):
        raise UsageError(
            f"--to {name}: another geometry than {trial.chip.part}: {differs}. The file system "
            "would write other pages; run the study on that part"
        )
    return Part.of(name, model.geometry, model.timing, trial.chip.latency)


def _alike(trial: Trial) -> Iterator[Part]:
    """All other parts of the same geometry whose latencies are known."""
    from nandlab.catalog.files import names

    for name in names("chips"):
        with suppress(UsageError):
            if name != trial.chip.part:
                yield _named(name, trial)


def _table(setting: Setting, parts: Sequence[Part]) -> Table:
    from nandlab.analysis.reprice import foretold

    return {part.name: [foretold(e, part) for e in setting.ensembles] for part in parts}
