# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of a list of steps: a row for each phase of each configuration, with what the chip did,
and what steps said in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from nandlab.analysis.figures.chipfigures import CHIP_OPERATION_TITLES
from nandlab.analysis.figures.groups import Ensemble, Setting
from nandlab.analysis.verdicts.views import STEP_LIST_ATTRIBUTE
from nandlab.catalog.words import OperationWords
from nandlab.report.tables import tables
from nandlab.report.tables.tables import CellPart, CellValue, ReportTable, TableRow

FIGURE_SUFFIXES = ("", ".sync", *(f".{operation}" for operation in CHIP_OPERATION_TITLES))
"""The figures of a phase."""
TABLE_HEAD = ["time + sync", "its sync", *CHIP_OPERATION_TITLES.values(), "cache before"]
TEXT_LETTERS_MAX = 16
"""Letters of a text that are shown."""


@dataclass(frozen=True)
class StepText:
    """What a step said in words: the same in every trial, or not."""

    name: str
    text: str


def has_file_steps(setting: Setting) -> bool:
    """Whether its phases are steps on files."""
    return STEP_LIST_ATTRIBUTE in setting.words.attributes


def render_file_steps_table(setting: Setting) -> ReportTable | None:
    """All phases, those that prepare too, in the order of the list; None: it is no such list."""
    if not has_file_steps(setting):
        return None
    rows = [
        _make_row(setting, e, p.name)
        for p in setting.words.phases
        for e in _list_ensembles_with_phase(setting, p.name)
    ]
    return ReportTable(TABLE_HEAD, rows, ("step", "configuration")) if rows else None


def _list_ensembles_with_phase(setting: Setting, phase: str) -> Iterator[Ensemble]:
    """The configurations in which the phase was run."""
    return (e for e in setting.ensembles if any(t.phase(phase) for t in e.ok))


def _make_row(setting: Setting, e: Ensemble, phase: str) -> TableRow:
    words = setting.words.phase(phase)
    figures = (setting.figure(f"phase.{phase}{what}") for what in FIGURE_SUFFIXES)
    cells = [tables.make_figure_column(f)[1](e) for f in figures]
    title = words.title if words.timed else f"{words.title} (prepares)"
    ids = [t.id for t in e.trials]
    return TableRow(
        title, e.label, tables.format_trial_count(e), [*cells, _make_cache_value(e, phase)], ids
    )


def _make_cache_value(e: Ensemble, phase: str) -> CellValue:
    said = find_step_cache_state(e, phase)
    return CellValue(CellPart(said)) if said else tables.MISSING_VALUE


def find_step_cache_state(e: Ensemble, phase: str) -> str:
    """Cold or warm; empty for a step that works on no files."""
    found = (p.at.get(STEP_LIST_ATTRIBUTE) for t in e.ok if (p := t.phase(phase)))
    return ", ".join(dict.fromkeys(str(word) for word in found if word is not None))


def list_latency_operations_to_draw(setting: Setting) -> list[OperationWords]:
    """The operations whose latencies are drawn. Of a list of steps every step tells many: those
    that write, look or read are drawn, of steps that count; the trial has them all."""
    words = setting.words
    if not has_file_steps(setting):
        return list(words.operations)
    return [o for o in words.counting if o.writes or o.name.endswith(("_lstat", "_read"))]


def list_step_outputs(setting: Setting) -> list[StepText]:
    """What steps said: digests of trees above all. One that is long is cut."""
    if not has_file_steps(setting):
        return []
    trials = [t for t in setting.trials if t.ok]
    names = dict.fromkeys(name for t in trials for name in t.texts)
    return [
        _make_step_text(name, [t.texts[name] for t in trials if name in t.texts]) for name in names
    ]


def _make_step_text(name: str, outputs: list[str]) -> StepText:
    texts = [
        t if len(t) <= TEXT_LETTERS_MAX else f"{t[:TEXT_LETTERS_MAX]}…"
        for t in dict.fromkeys(outputs)
    ]
    title = name.replace("_", " ")
    if len(texts) == 1:
        in_all = f"in all {len(outputs)} trials" if len(outputs) > 1 else "in one trial"
        return StepText(title, f"{texts[0]}, {in_all}")
    return StepText(
        title, f"{len(texts)} different in {len(outputs)} trials: {', '.join(texts[:3])}"
    )
