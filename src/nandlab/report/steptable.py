# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of a list of steps: a row for each phase of each configuration, with what the chip did,
and what steps said in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from nandlab.analysis.figures import CHIP_OPERATIONS
from nandlab.analysis.groups import Ensemble, Setting
from nandlab.analysis.views import STEP_BY_STEP
from nandlab.catalog.words import OperationWords
from nandlab.report import tables
from nandlab.report.tables import Part, Table, TableRow, Value

COLUMNS = ("", ".sync", *(f".{operation}" for operation in CHIP_OPERATIONS))
"""The figures of a phase."""
HEAD = ["time + sync", "its sync", *CHIP_OPERATIONS.values(), "cache before"]
TEXT_LETTERS = 16
"""Letters of a text that are shown."""


@dataclass(frozen=True)
class Said:
    """What a step said in words: the same in every trial, or not."""

    name: str
    text: str


def has_steps(setting: Setting) -> bool:
    """Whether its phases are steps on files."""
    return STEP_BY_STEP in setting.words.at


def table(setting: Setting) -> Table | None:
    """All phases, those that prepare too, in the order of the list; None: it is no such list."""
    if not has_steps(setting):
        return None
    rows = [_row(setting, e, p.name) for p in setting.words.phases for e in _with(setting, p.name)]
    return Table(HEAD, rows, ("step", "configuration")) if rows else None


def _with(setting: Setting, phase: str) -> Iterator[Ensemble]:
    """The configurations in which the phase was run."""
    return (e for e in setting.ensembles if any(t.phase(phase) for t in e.ok))


def _row(setting: Setting, e: Ensemble, phase: str) -> TableRow:
    words = setting.words.phase(phase)
    figures = (setting.figure(f"phase.{phase}{what}") for what in COLUMNS)
    cells = [tables.figure(f)[1](e) for f in figures]
    title = words.title if words.timed else f"{words.title} (prepares)"
    ids = [t.id for t in e.trials]
    return TableRow(title, e.label, tables.count(e), [*cells, _cache(e, phase)], ids)


def _cache(e: Ensemble, phase: str) -> Value:
    said = cache(e, phase)
    return Value(Part(said)) if said else tables.MISSING


def cache(e: Ensemble, phase: str) -> str:
    """Cold or warm; empty for a step that works on no files."""
    found = (p.at.get(STEP_BY_STEP) for t in e.ok if (p := t.phase(phase)))
    return ", ".join(dict.fromkeys(str(word) for word in found if word is not None))


def telling(setting: Setting) -> list[OperationWords]:
    """The operations whose latencies are drawn. Of a list of steps every step tells many: those
    that write, look or read are drawn, of steps that count; the trial has them all."""
    words = setting.words
    if not has_steps(setting):
        return list(words.operations)
    return [o for o in words.counting if o.writes or o.name.endswith(("_lstat", "_read"))]


def texts(setting: Setting) -> list[Said]:
    """What steps said: digests of trees above all. One that is long is cut."""
    if not has_steps(setting):
        return []
    trials = [t for t in setting.trials if t.ok]
    names = dict.fromkeys(name for t in trials for name in t.texts)
    return [_said(name, [t.texts[name] for t in trials if name in t.texts]) for name in names]


def _said(name: str, found: list[str]) -> Said:
    shown = [t if len(t) <= TEXT_LETTERS else f"{t[:TEXT_LETTERS]}…" for t in dict.fromkeys(found)]
    title = name.replace("_", " ")
    if len(shown) == 1:
        in_all = f"in all {len(found)} trials" if len(found) > 1 else "in one trial"
        return Said(title, f"{shown[0]}, {in_all}")
    return Said(title, f"{len(shown)} different in {len(found)} trials: {', '.join(shown[:3])}")
