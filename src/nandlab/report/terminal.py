# SPDX-License-Identifier: GPL-2.0-or-later
"""A run in the terminal, as a table for people or as JSON for scripts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from nandlab.analysis import answers, figures, lifetime
from nandlab.analysis.groups import Ensemble, Setting, group
from nandlab.analysis.spread import Spread
from nandlab.base import units
from nandlab.results.folder import RunFolder
from nandlab.results.record import Trial

FIELDS = (
    "id",
    "status",
    "filesystem",
    "options",
    "chip",
    "state",
    "image",
    "workload",
    "parameters",
    "seed",
    "phase_offset_ms",
    "phase_ns",
    "sync_ns",
    "ops",
    "bytes",
    "latency_ns",
    "flash",
    "erases_per_block",
    "lifetime",
    "step_ns",
    "memory",
    "counters",
    "warnings",
    "error",
)
"""Keys of a trial in the JSON, always all of them and in this order; what is missing is null."""


def as_json(run_folder: RunFolder) -> list[dict[str, Any]]:
    """The finished trials in the order of the plan, with exactly :data:`FIELDS`."""
    found = []
    for trial in run_folder.trials():
        dumped = trial.model_dump(mode="json", include=set(FIELDS))
        found.append({key: dumped[key] for key in FIELDS})
    return found


def print_table(run_folder: RunFolder, console: Console) -> None:
    """Caveats first, then a table for each workload on each chip: median and range."""
    run, trials, missing = run_folder.head(), list(run_folder.trials()), run_folder.missing()
    console.print(f"[bold]{escape(run.question)}[/bold]")
    for line in answers.caveats(run, trials, missing):
        console.print(f"[yellow]![/yellow] {escape(line)}")
    if not trials:
        console.print("No trial of this run has finished yet.")
    for setting in group(trials):
        _print_setting(setting, console)
    for line in _warnings(trials):
        console.print(line)
    for trial in trials:
        if not trial.ok:
            error = trial.error or "no reason was recorded"
            console.print(f"[red]{trial.status}[/red] {escape(trial.id)}: {escape(error)}")


def _print_setting(setting: Setting, console: Console) -> None:
    """Its tables; of worn-out chips also how each file system ended."""
    note, columns = (LIFE_NOTE, LIFE_COLUMNS) if setting.lifetime else (NOTE, COLUMNS)
    console.print(f"\n[bold]{escape(setting.title)}[/bold]")
    console.print(f"[dim]{note}[/dim]")
    for i, subject in enumerate(setting.subjects):
        console.print(_table(setting, subject, columns, with_head=i == 0))
    console.print(f"[dim]{STEP_NOTE}[/dim]")
    columns = STEP_COLUMNS + MEMORY_COLUMNS * setting.has_memory
    for i, subject in enumerate(setting.subjects):
        console.print(_table(setting, subject, columns, with_head=i == 0))
    for e in setting.ensembles:
        for ending in lifetime.endings(e):
            console.print(f"{escape(e.label)}: {escape(ending)}")


@dataclass(frozen=True)
class Column:
    """Title, width, and the cell of an ensemble; the table's first column names its state."""

    title: str
    width: int
    cell: Callable[[Ensemble], str]


def _column(
    title: str,
    width: int,
    figure: Callable[[Trial], float | None],
    sizes: units.Units = ((1.0, ""),),
) -> Column:
    return Column(title, width, lambda e: _lines(e.spread(figure), sizes))


STATE_WIDTH = 12
NOTE = "Median, and the range below it; a phase with its sync."
COLUMNS = (
    *(
        _column(title, 12, partial(figures.total_ns, phase=phase), units.TIME_UNITS)
        for title, phase in zip(("creation", "transact.", "deletion"), figures.TIMED, strict=True)
    ),
    _column("trans./s", 11, figures.transactions_per_s),
    _column("erases", 13, partial(figures.chip_total, operation="erases")),
    _column("spread", 8, figures.wear_spread),
)
"""Titles and widths: tables of several subjects stand in line, within 80 columns."""

STEP_NOTE = "Outside the load: make, mount (empty), come to rest, unmount; RAM held at its peak."
STEP_COLUMNS = tuple(
    _column(step, 13, partial(figures.step_ns, step=step), units.TIME_UNITS)
    for step in figures.STEPS
)
MEMORY_COLUMNS = (_column("RAM", 13, partial(figures.memory, key="peak"), units.BYTE_UNITS),)

LIFE_NOTE = "Median, and the range below it, over the life; +: or more, a trial lived on."
LIFE_COLUMNS = (
    Column("written", 14, lambda e: _lines(lifetime.written(e), units.BYTE_UNITS)),
    Column("first death", 14, lambda e: _lines(lifetime.first_death(e), units.BYTE_UNITS)),
    Column("dead", 10, lambda e: _lines(lifetime.dead_blocks(e))),
    _column("erases", 16, partial(figures.life_total, total="erases")),
    Column("gave up", 12, lifetime.ended),
)


def _table(setting: Setting, subject: str, columns: Sequence[Column], *, with_head: bool) -> Table:
    """The states of a subject under its name."""
    table = Table(
        title=escape(subject),
        title_justify="left",
        title_style="bold",
        box=None,
        padding=(0, 0),
        show_header=with_head,
        header_style="dim",
    )
    table.add_column("", width=STATE_WIDTH, overflow="fold")
    for column in columns:
        table.add_column(column.title, width=column.width, justify="right", overflow="fold")
    for e in setting.ensembles:
        if e.subject == subject:
            table.add_row(_state(e), *(column.cell(e) for column in columns))
    return table


def _state(e: Ensemble) -> str:
    """n counts the trials that ended well, and says of how many where that differs."""
    n = f"{len(e.ok)}" if len(e.ok) == len(e.trials) else f"{len(e.ok)} of {len(e.trials)}"
    return f"  {escape(e.state)}\n  [dim]n = {n}[/dim]"


def _lines(found: Spread | None, sizes: units.Units = ((1.0, ""),)) -> str:
    """Median with its unit, and below it the range in the same unit."""
    if found is None:
        return units.MISSING
    unit, name = units.unit_for(found.median, sizes)
    on = "+" if found.median_more else ""
    median = f"{units.figures3(found.median / unit)}{on} {name}".strip()
    if found.n == 1:
        return median
    low, high = (units.figures3(v / unit).replace(",", "") for v in (found.min, found.max))
    return f"{median}\n[dim]{low}..{high}{'+' if found.more else ''}[/dim]"


def _warnings(trials: list[Trial]) -> list[str]:
    """Each doubt with the configurations and the number of trials that carry it."""
    carried: dict[str, Counter[str]] = {}
    for e in (e for setting in group(trials) for e in setting.ensembles):
        for trial in e.trials:
            for code in {w.code for w in trial.warnings}:
                carried.setdefault(code, Counter())[e.label] += 1
    return [
        f"[yellow]{escape(code)}[/yellow] "
        + escape("; ".join(f"{label}: {n} trial{'s' if n > 1 else ''}" for label, n in by.items()))
        for code, by in sorted(carried.items())
    ]
