# SPDX-License-Identifier: GPL-2.0-or-later
"""A trace's time in parts on a terminal, and the words for it that the page has too."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from nandlab.base.console import Console
from nandlab.base.printable import make_printable
from nandlab.trace.show import format_ns_as_ms, format_part_as_percent
from nandlab.traced.timeparts import SWITCHES

WORDS = {
    "application": "application",
    "file_system_in_calls": "file system in calls",
    "collector_in_calls": "collector in calls",
    "collector_in_threads": "collector in threads",
    "other_threads": "other threads",
    "mtd": "MTD",
    "chip": "chip",
    "idle": "idle",
    "application_or_idle": "application or idle",
    "wear_leveling": "wear levelling",
    "erase": "erasing of freed blocks",
    "rest": "the rest",
}
ORDER = tuple(WORDS)
OPERATIONS = ("reads", "programs", "erases")
TOGETHER_NOTE = (
    "Application and idle are one part, for the trace does not tell when a program sleeps; and a "
    "call that waits has the time, whatever it waits for, unless another thread is seen to work. "
    f"Both are told by a trace with --functions {SWITCHES[0]}."
)

LOST_NOTE = (
    "Records were overwritten: the whole trace begins here where the first one that was kept ends, "
    "and what goes on there without a record of its beginning may count for another part. Trace "
    "again with more --records."
)


def sort_phase_time_parts(phase: dict[str, Any]) -> list[tuple[str, int]]:
    """Each part's name and time, in one order."""
    return sorted(phase["parts_ns"].items(), key=lambda part: ORDER.index(part[0]))


def format_time_part_notes(found: dict[str, Any]) -> list[str]:
    """What the parts do not tell, and why."""
    told = [] if found["switches"] else [TOGETHER_NOTE]
    return [*told, LOST_NOTE] if found["lost"] else told


def print_time_parts(parts: dict[str, Any], console: Console) -> None:
    """Prints for each phase its parts, for whom they were, and who asked the chip for what."""
    for phase in parts["phases"]:
        title = make_printable(f"{phase['name']}: {format_ns_as_ms(phase['elapsed_ns'])} ms")
        console.print(title, style="bold", markup=False)
        console.print(_render_parts_table(phase))
        console.print(_render_for_whom_table(phase))
        console.print(_render_operations_table(phase))
    for note in format_time_part_notes(parts):
        console.print(note, style="dim", markup=False)


def _render_table(title: str, first: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    table.add_column(first)
    for column in columns:
        table.add_column(column, justify="right")
    return table


def _render_parts_table(phase: dict[str, Any]) -> Table:
    table = _render_table("Time in parts", "part", "ms", "share")
    for name, ns in sort_phase_time_parts(phase):
        table.add_row(
            WORDS[name], format_ns_as_ms(ns), format_part_as_percent(ns, phase["elapsed_ns"])
        )
    table.add_row("together", format_ns_as_ms(sum(phase["parts_ns"].values())), "")
    return table


def _render_for_whom_table(phase: dict[str, Any]) -> Table:
    table = _render_table("For whom, ms", "", "own code", "MTD", "chip", "together", "share")
    for name, cells in phase["for_ns"].items():
        total_ns = sum(cells.values())
        share = format_part_as_percent(total_ns, phase["elapsed_ns"])
        table.add_row(
            WORDS[name],
            *(format_ns_as_ms(ns) for ns in cells.values()),
            format_ns_as_ms(total_ns),
            share,
        )
    return table


def _render_operations_table(phase: dict[str, Any]) -> Table:
    table = _render_table("Operations of the chip", "by", *OPERATIONS)
    for by, counts in phase["operations"].items():
        table.add_row(WORDS[by], *(f"{counts[name]:,}" for name in OPERATIONS))
    return table
