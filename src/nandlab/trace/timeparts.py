# SPDX-License-Identifier: GPL-2.0-or-later
"""The time in parts of a trace's folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nandlab.base.errors import UsageError
from nandlab.catalog.files import load_noun
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.trace.folder import TraceFolder
from nandlab.traced import timeparts


def compute_trace_time_parts(trace: TraceFolder) -> dict[str, Any]:
    """The parts, whole and by phase, as JSON has them. UsageError if none can be made of it."""
    if trace.meta["kernel_threads"] is None:
        raise UsageError(
            f"{trace.path}: made before nandlab kept which threads are the kernel's, "
            "without which program and thread are not told apart: trace again"
        )
    symbols: Mapping[str, Sequence[str]] = load_noun(  # type: ignore[assignment]
        "filesystems", trace.meta["filesystem"], FilesystemModel
    ).symbols
    threads, lost = trace.meta["kernel_threads"], bool(trace.summary["lost"])
    try:
        return timeparts.compute_time_parts(
            timeparts.read_part_events(trace.events, symbols, threads, lost)
        )
    except timeparts.NoPartsPossible as e:
        raise UsageError(f"{trace.path}: {e}") from None
