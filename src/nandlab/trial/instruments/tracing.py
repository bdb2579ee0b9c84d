# SPDX-License-Identifier: GPL-2.0-or-later
"""The tracers in a trial: the step that starts them, the one that ends them, and what came back.

The records are on the board when the load ends; an instrument brings them back after the last
unmount. What ends the tracers prints their status and names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nandlab.board.jobs.job import JobRecord, Step, escape_output
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.plan.trialspec import TrialSpec
from nandlab.traced.setup import FOLDER, STOP_COMMAND, make_hooks_at_once_command

if TYPE_CHECKING:
    from nandlab.traced.records import Names, Recording

STATUS_MARK, NAMES = "--status--\n", "--names--\n"
"""What parts the output of the step that ends the tracers."""
KERNEL = re.compile(r"kernel (\S+)")


def make_tracing_end_step(name: str, before: str = "") -> Step:
    """The step that ends the tracers; before: a command of it that comes first."""
    lines = [
        *([before] if before else []),
        f"echo pause > {FOLDER}/control",
        f"echo {STATUS_MARK.strip()}",
        "echo kernel $(uname -r)",
        f"cat {FOLDER}/status",
        f"{{ {make_hooks_at_once_command(STOP_COMMAND)}; }}",
        f"echo {NAMES.strip()}",
        f"cat {FOLDER}/names",
    ]
    return Step(name, " && ".join(lines), beside=True)


def parse_tracer_status(record: JobRecord, end: str) -> str:
    """What the tracers said of themselves in the step of this name."""
    return escape_output(record[end].stdout).partition(STATUS_MARK)[2].partition(NAMES)[0]


def parse_traced_names(record: JobRecord, end: str) -> Names:
    """The names that records have numbers for."""
    from nandlab.traced import records

    return records.parse_trace_names(escape_output(record[end].stdout).partition(NAMES)[2])


def describe_traced_board(spec: TrialSpec, record: JobRecord, end: str) -> dict[str, Any]:
    """The board as ``traced.cost`` asks for it."""
    kernel = KERNEL.search(parse_tracer_status(record, end))
    return {
        "kernel": kernel[1] if kernel else "?",
        "accel": "tcg",
        "board": {"icount_shift": spec.virtual.icount_shift},
    }


def write_event_table(
    recording: Recording, names: Names, filesystem: FilesystemModel, to: Path
) -> None:
    """Writes the events, with parents and causes, as ``nandlab trace`` does."""
    import numpy as np

    from nandlab.traced import tables, tree

    symbols: Mapping[str, Sequence[str]] = filesystem.symbols  # type: ignore[assignment]
    event_tree = tree.make_event_tree(recording, names, symbols)
    seq = recording.records["seq"]
    parent = np.where(event_tree.parent == tree.NONE, 0, seq[event_tree.parent])
    more = {"parent": parent, "cause": event_tree.cause}
    tables.write_event_tables(
        recording, names, to, extra_columns=more, words={"cause": event_tree.causes}
    )
