# SPDX-License-Identifier: GPL-2.0-or-later
"""A trace's summary on a terminal."""

from __future__ import annotations

from collections import Counter
from typing import Any

from rich.table import Table

from nandlab.base.console import Console, escape_rich_markup
from nandlab.base.printable import make_printable
from nandlab.trace import answer
from nandlab.trace.folder import TraceFolder
from nandlab.trace.summary import format_cause_name
from nandlab.traced.tree import LAYERS

FILES_SHOWN = 15
NS_PER_MS = 1e6


def format_ns_as_ms(ns: int) -> str:
    return f"{ns / NS_PER_MS:,.3f}"


def format_part_as_percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def print_trace_summary(trace: TraceFolder, console: Console) -> None:
    """Prints where the time went, what each layer was asked, who used the flash."""
    s, meta = trace.summary, trace.meta
    where = f"{meta['filesystem']} on {meta['chip']}, {meta['state']['name']}"
    console.print(
        make_printable(f"{meta['command']}  ({where})"),
        style="bold",
        markup=False,
        highlight=False,
    )
    console.print(
        f"{s['events']:,} events in {format_ns_as_ms(s['trace_ns'])} ms; "
        f"{s['lost']:,} lost, {s['missed']:,} missed"
    )
    for warning in s["warnings"]:
        console.print(make_printable(f"warning: {warning}"), style="yellow", markup=False)
    for line in answer.format_summary_sentences(s):
        console.print(make_printable(line), markup=False, highlight=False)
    for table in (
        render_system_calls_table(s),
        render_kernel_functions_table(s),
        render_layer_bytes_table(s),
        render_flash_time_by_cause(s),
        render_flash_time_by_file(s),
        render_tracing_cost_table(s),
    ):
        console.print(table)
    console.print(make_printable(format_tracing_cost(s["cost"])), markup=False)
    console.print(format_page_cache(s["cache"]))
    for absent in answer.format_untraced_events(s["not_traced"]):
        console.print(make_printable(f"not traced: {absent}"), style="dim", markup=False)


def _render_table(title: str, first: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    table.add_column(first)
    for column in columns:
        table.add_column(column, justify="right")
    return table


def render_system_calls_table(s: dict[str, Any]) -> Table:
    """Where the time of each system call went."""
    table = _render_table("Time of calls, ms", "call", "count", "time", "longest", *LAYERS[:-1])
    for row in s["calls"]:
        name = row["name"] if row["kind"] == "system call" else f"task {row['name']}"
        times = [format_ns_as_ms(row["layers_ns"][layer]) for layer in LAYERS[:-1]]
        table.add_row(
            escape_rich_markup(name),
            f"{row['count']:,}",
            format_ns_as_ms(row["ns"]),
            format_ns_as_ms(row["ns_max"]),
            *times,
        )
    return table


def render_kernel_functions_table(s: dict[str, Any]) -> Table:
    """Kernel functions: how often, how long with all inside and without."""
    head = ("function", "count", "time", "own", "longest")
    table = _render_table("Time of functions, ms", *head)
    for row in s["functions"]:
        times = [format_ns_as_ms(row[k]) for k in ("ns", "ns_self", "ns_max")]
        table.add_row(escape_rich_markup(row["name"]), f"{row['count']:,}", *times)
    return table


def render_layer_bytes_table(s: dict[str, Any]) -> Table:
    """What each layer was asked, in bytes."""
    table = _render_table(
        "Bytes down the layers", "", "program", "file system", "MTD", "chip", "pages", "x"
    )
    for name, row in s["amplification"].items():
        keys = ("program_bytes", "file_system_bytes", "mtd_bytes", "chip_bytes", "chip_pages")
        cells = ["-" if row[k] is None else f"{row[k]:,}" for k in keys]
        table.add_row(
            escape_rich_markup(name),
            *cells,
            "-" if row["factor"] is None else f"{row['factor']:.2f}",
        )
    return table


def render_flash_time_by_cause(s: dict[str, Any]) -> Table:
    """Time of the flash by cause."""
    table = _render_table(
        "Flash time by cause", "cause", "ms", "share", "reads", "programs", "erases"
    )
    for row in s["flash_by_cause"]:
        counts = [
            f"{row['reads'] + row['oob_reads']:,}",
            f"{row['programs'] + row['oob_programs']:,}",
            f"{row['erases']:,}",
        ]
        share = format_part_as_percent(row["ns"], s["flash"]["ns"])
        table.add_row(
            escape_rich_markup(format_cause_name(row["cause"])),
            format_ns_as_ms(row["ns"]),
            share,
            *counts,
        )
    return table


def render_flash_time_by_file(s: dict[str, Any]) -> Table:
    """Time of the flash by file, the greatest first."""
    table = _render_table("Flash time by file", "file", "ms", "share", "mostly")
    for row in list_flash_time_file_rows(s):
        most = max(row["causes_ns"], key=row["causes_ns"].get, default="")
        share = format_part_as_percent(row["ns"], s["flash"]["ns"])
        table.add_row(
            escape_rich_markup(row["path"]),
            format_ns_as_ms(row["ns"]),
            share,
            escape_rich_markup(format_cause_name(most)),
        )
    return table


def list_flash_time_file_rows(s: dict[str, Any]) -> list[dict[str, Any]]:
    """The files with most flash time, then one row for all that are gone and one for the rest."""
    existing = [row for row in s["flash_by_file"] if not row["gone"]]
    gone = [row for row in s["flash_by_file"] if row["gone"]]
    rows = existing[:FILES_SHOWN]
    for name, summed_rows in (("gone at the end", gone), ("more", existing[FILES_SHOWN:])):
        if summed_rows:
            causes: Counter[str] = Counter()
            for row in summed_rows:
                causes.update(row["causes_ns"])
            word = "file" if len(summed_rows) == 1 else "files"
            path = f"{len(summed_rows):,} {word} {name}"
            rows.append({"path": path, "ns": causes.total(), "causes_ns": dict(causes)})
    return sorted(rows, key=lambda row: -int(row["ns"]))


def render_tracing_cost_table(s: dict[str, Any]) -> Table:
    """What the tracing itself cost, by kind of event."""
    table = _render_table("Instructions of the tracers", "event", "count", "each", "together")
    for row in s["cost"]["kinds"]:
        figures = (f"{row[k]:,}" for k in ("count", "instructions_each", "instructions"))
        table.add_row(escape_rich_markup(row["kind"]), *figures)
    return table


def format_tracing_cost(cost: dict[str, Any]) -> str:
    """The cost of tracing in a sentence."""
    text = f"tracing cost {cost['instructions']:,} instructions"
    if cost["share"] is not None:
        text += (
            f", {format_ns_as_ms(cost['ns'])} ms: {100 * cost['share']:.2f} % of the trace's time"
        )
    if cost["unpriced"]:
        what = ", ".join(f"{count:,} {event}" for event, count in cost["unpriced"].items())
        text += f"; not counting {what}, whose cost was not measured on Linux {cost['kernel']}"
    return text


def format_page_cache(cache: dict[str, Any]) -> str:
    """The page cache in a sentence."""
    reads = cache["hits"] + cache["misses"]
    if not reads:
        return "page cache: no read of a file was traced"
    text = (
        f"page cache: {cache['hits']:,} of {reads:,} pages hit "
        f"({format_part_as_percent(cache['hits'], reads)})"
    )
    if cache["ahead"]:
        text += f"; {cache['ahead']:,} pages read ahead, {cache['wasted']:,} of them for nothing"
    return text
