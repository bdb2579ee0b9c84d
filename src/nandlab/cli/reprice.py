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
from nandlab.base.printer import print_json, print_note, print_paragraphs
from nandlab.cli.arguments import (
    JsonOption,
    RunArgument,
    make_name_completer,
    parse_name_value_pairs,
)
from nandlab.cli.chartfile import refuse_unknown_chart_suffix, write_chart

if TYPE_CHECKING:
    from nandlab.analysis.differences.reprice import PartLatencies
    from nandlab.analysis.figures.groups import Setting
    from nandlab.report.page.repricereport import PredictionTable
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
            autocompletion=make_name_completer("chips"),
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
    as_json: JsonOption = False,
    chart: Annotated[
        Path | None, typer.Option("--chart", metavar="FILE", help="draw it: .svg or .png")
    ] = None,
) -> None:
    """Foretell a run's times on another part of the same geometry, from the operations it counted.

    Without --to and --set: for every part of the catalog that has the geometry of the run's chip.
    Nothing is run. A part of another geometry is refused, since the file system would write other
    pages. docs/reprice.md tells how far such figures were off when the parts were run.
    """
    from nandlab.catalog.files import use_run_nouns
    from nandlab.report.page import repricereport
    from nandlab.results.nouns import collect_run_own_nouns
    from nandlab.trial.publishedrun import open_results

    refuse_unknown_chart_suffix("--chart", chart)
    folder = open_results(run)
    settings = _group_trials(folder)
    values = {
        key: _parse_ns(key, text) for key, text in parse_name_value_pairs(sets, "--set").items()
    }
    with use_run_nouns(collect_run_own_nouns(folder.head(), folder.trials())):
        tables = [
            (s, _reprice_ensembles(s, found))
            for s in settings
            if (found := _find_targets(s, to, values))
        ]
    if not tables:
        raise UsageError(f"{run}: no other part of the catalog has the geometry of its chip")
    if chart is not None and len(tables) > 1:
        many = f"the run has {len(tables)} settings, and a chart shows one"
        raise UsageError(f"--chart {chart}: {many}; give a run of one setting")
    if as_json:
        records = (r for table in tables for r in repricereport.list_prediction_records(*table))
        print_json([record.model_dump(mode="json") for record in records])
    else:
        phases = bool(to or sets)
        print_paragraphs(
            repricereport.render_prediction_tables(*table, phases=phases) for table in tables
        )
        notes = [
            repricereport.PREDICTION_NOTE,
            repricereport.BY_PHASES_NOTE if phases else "",
            repricereport.NO_PERCENTILES_NOTE,
        ]
        print_note("", *filter(None, notes))
    if chart is not None:
        write_chart(chart, repricereport.render_prediction_chart(*tables[0], "repriced"))


def _group_trials(folder: Results) -> list[Setting]:
    from nandlab.analysis.figures.groups import group_trials_into_settings

    found = group_trials_into_settings(folder.trials())
    if not any(t.ok for setting in found for t in setting.trials):
        raise UsageError(f"{folder.path}: no trial of this run has ended well")
    return found


def _parse_ns(key: str, text: str) -> int:
    if not re.fullmatch("[0-9]{1,13}", text) or int(text) > 10**12:
        raise UsageError(f"--set {key}={text}: give whole nanoseconds, 0 to 10^12")
    return int(text)


def _find_targets(
    setting: Setting, to: Sequence[str], values: Mapping[str, int]
) -> list[PartLatencies]:
    """What to foretell for; UsageError for a named part that no trial here could stand for."""
    from nandlab.analysis.differences.reprice import make_trial_part_with_timings

    first = next((t for t in setting.trials if t.ok), None)
    if first is None:
        return []
    named = [_find_part(name, first) for name in to]
    own = [make_trial_part_with_timings(first, values)] if values else []
    return [*named, *own] or list(_list_alike_parts(first))


def _find_part(name: str, trial: Trial) -> PartLatencies:
    from nandlab.analysis.differences.reprice import PartLatencies, format_geometry_difference
    from nandlab.catalog.chip import ChipModel
    from nandlab.catalog.files import load_noun

    model = load_noun("chips", name, ChipModel)
    if differs := format_geometry_difference(trial, model):
        raise UsageError(
            f"--to {name}: another geometry than {trial.chip.part}: {differs}. The file system "
            "would write other pages; run the study on that part"
        )
    return PartLatencies.from_timing(name, model.geometry, model.timing, trial.chip.latency)


def _list_alike_parts(trial: Trial) -> Iterator[PartLatencies]:
    """All other parts of the same geometry whose latencies are known."""
    from nandlab.catalog.files import list_noun_names

    for name in list_noun_names("chips"):
        with suppress(UsageError):
            if name != trial.chip.part:
                yield _find_part(name, trial)


def _reprice_ensembles(setting: Setting, parts: Sequence[PartLatencies]) -> PredictionTable:
    from nandlab.analysis.differences.reprice import list_part_time_predictions

    return {
        part.name: [list_part_time_predictions(e, part) for e in setting.ensembles]
        for part in parts
    }
