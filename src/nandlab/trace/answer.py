# SPDX-License-Identifier: GPL-2.0-or-later
"""What a trace says in sentences: how long, what the chip did and for whom, what is missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nandlab.base import units
from nandlab.trace.summary import NO_FILE, format_cause_name

NO_FUNCTION = ("the file system has none", "the kernel has none that can be probed")
"""Why an event has nothing to show: no function of its own does what it stands for."""


def format_summary_sentences(s: Mapping[str, Any]) -> Iterator[str]:
    """The answer of a summary: each sentence stands by itself."""
    trace_ns = s["trace_ns"]
    if not trace_ns:
        yield "No event was traced."
        return
    flash = s["flash"]
    did = ", ".join(
        f"{flash[kind]:,} {kind if flash[kind] != 1 else kind.removesuffix('s')}"
        for kind in ("reads", "programs", "erases")
    )
    chip = (
        f"the chip worked for {units.format_time(flash['ns'])} of it "
        f"({_format_share(flash['ns'], trace_ns)}): {did}"
    )
    traced = any(row["event"].startswith("FLASH") for row in s["requests"])
    yield f"It took {units.format_time(trace_ns)}; " + (
        f"{chip}." if traced else "no flash was traced."
    )
    yield from _format_for_whom(s)
    write = s["amplification"]["write"]
    if write["factor"] is not None:
        yield (
            f"Programs wrote {write['program_bytes']:,} bytes, and the chip was given "
            f"{write['chip_bytes']:,}: {write['factor']:.2f} for each."
        )


def _format_for_whom(s: Mapping[str, Any]) -> Iterator[str]:
    """Which cause, and which file, had most of the chip's time."""
    chip_ns = s["flash"]["ns"]
    causes = max(s["flash_by_cause"], key=lambda row: row["ns"], default=None)
    if not chip_ns or causes is None:
        return
    sentence = (
        f"Of the chip's time {_format_share(causes['ns'], chip_ns)} was for "
        f"{format_cause_name(causes['cause'])}"
    )
    files = [row for row in s["flash_by_file"] if row["path"] != NO_FILE and row["ns"]]
    file = max(files, key=lambda row: row["ns"], default=None)
    yield (
        f"{sentence}, {_format_share(file['ns'], chip_ns)} for {file['path']}."
        if file
        else f"{sentence}."
    )


def format_untraced_events(listed: Sequence[str]) -> list[str]:
    """What a trace cannot show, a line each; events for which there is no function share one."""
    plain, without = [], []
    for line in listed:
        event, _, why = line.removeprefix("event ").partition(": ")
        if line.startswith("event ") and why.startswith(NO_FUNCTION):
            without.append(event.removeprefix("FS_").replace("_", " ").lower())
        else:
            plain.append(line)
    if without:
        plain.insert(0, f"{', '.join(without)}: the file system has no such function here")
    return plain


def _format_share(part: float, whole: float) -> str:
    return units.format_percent(part / whole)
