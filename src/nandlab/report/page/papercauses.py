# SPDX-License-Identifier: GPL-2.0-or-later
"""Traces of a paper's load side by side: whose work took the flash's time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from nandlab.base import units
from nandlab.base.paths import CATALOG
from nandlab.catalog.paper import TraceComparison
from nandlab.trace import brief
from nandlab.trace.brief import Brief, Flash, Phase
from nandlab.trace.summary import format_cause_name

NO_VALUE = units.MISSING
SHARE_SHOWN_MIN = 0.01
"""A cause with less than this share of flash time in every trace goes with the others."""


@dataclass(frozen=True)
class CauseTable:
    """As the page shows it: a column for each trace."""

    head: list[str]
    trace_figures: list[tuple[str, list[str]]]
    """Figures of the whole trace."""
    causes: list[tuple[str, list[str]]]
    """The causes, the one that takes longest in the last trace first."""
    commands: list[tuple[str, str]]
    warnings: list[str]


def find_trace_figures_path(paper: str, file: str) -> Path:
    """Where a trace's figures lie."""
    return CATALOG / "papers" / "traces" / paper / f"{file}.json"


def make_paper_cause_table(paper: str, comparison: TraceComparison) -> CauseTable:
    """From the figures that were kept."""
    briefs = [
        brief.read_trace_brief(find_trace_figures_path(paper, t.file)) for t in comparison.traces
    ]
    labels = [t.label for t in comparison.traces]
    return CauseTable(
        labels,
        _list_whole_trace_rows(briefs),
        _list_cause_rows(briefs),
        [(t.label, t.command) for t in comparison.traces],
        [f"{t}: {w}" for t, b in zip(labels, briefs, strict=True) for w in b.warnings],
    )


def _list_whole_trace_rows(briefs: Sequence[Brief]) -> list[tuple[str, list[str]]]:
    phases = list(dict.fromkeys(p.name for b in briefs for p in b.phases))
    timed = [
        (f"{name}, with its sync", [_format_phase(b, name) for b in briefs]) for name in phases
    ]
    figures: list[tuple[str, Callable[[Brief], str]]] = [
        ("pages of the cache written to", lambda b: units.format_count(b.pages.get("written to"))),
        (
            "pages of the cache written back",
            lambda b: units.format_count(b.pages.get("written back")),
        ),
        ("flash, whole trace", lambda b: _format_flash_work(b.flash)),
        ("bytes programmed by bytes written", _format_write_factor),
    ]
    called = dict.fromkeys(f for b in briefs for f in b.functions)
    figures += [(f"calls of {name}", partial(_format_calls, name=name)) for name in called]
    told = ((name, [figure(b) for b in briefs]) for name, figure in figures)
    return [*timed, *(row for row in told if any(c != NO_VALUE for c in row[1]))]


def _format_calls(of: Brief, name: str) -> str:
    if name not in of.functions:
        return NO_VALUE
    count, ns = of.functions[name]
    return f"{units.format_count(count)}, {units.format_time(ns)} in all"


def _format_phase(of: Brief, name: str) -> str:
    return _format_flash_work(next((p for p in of.phases if p.name == name), None))


def _format_write_factor(of: Brief) -> str:
    if of.programmed_bytes is None or not of.written_bytes:
        return NO_VALUE
    return units.format_ratio(of.programmed_bytes / of.written_bytes)


def _list_cause_rows(briefs: Sequence[Brief]) -> list[tuple[str, list[str]]]:
    by_cause = [{c.cause: c for c in b.causes} for b in briefs]
    names = list(dict.fromkeys(c for causes in reversed(by_cause) for c in causes))
    trace_ns = [b.flash.ns if b.flash else 0 for b in briefs]
    large_names = [
        n
        for n in names
        if any(
            n in causes and causes[n].ns >= SHARE_SHOWN_MIN * ns
            for causes, ns in zip(by_cause, trace_ns, strict=True)
        )
    ]
    rows = [
        (format_cause_name(n), [_format_flash_work(causes.get(n)) for causes in by_cause])
        for n in large_names
    ]
    small_causes = [[c for n, c in causes.items() if n not in large_names] for causes in by_cause]
    if any(small_causes):
        rows.append(("all others", [units.format_time(sum(c.ns for c in r)) for r in small_causes]))
    return rows


def _format_flash_work(work: Flash | Phase | None) -> str:
    """Time, and the pages and blocks that it was for."""
    if work is None:
        return NO_VALUE
    operations = ((work.reads, "read"), (work.programs, "programmed"), (work.erases, "erased"))
    counts_text = ", ".join(f"{units.format_count(n)} {verb}" for n, verb in operations if n)
    return (
        f"{units.format_time(work.ns)} ({counts_text})"
        if counts_text
        else units.format_time(work.ns)
    )
