# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes what a board gave into a trace's folder, which appears only when it is complete."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nandlab import __version__
from nandlab.base.digest import digest_bytes
from nandlab.base.errors import UsageError
from nandlab.base.scratch import hold_scratch_folder
from nandlab.board.jobs.job import Board, JobRecord
from nandlab.trace import summary, timeline
from nandlab.trace.folder import CHIP_IMAGE, FORMAT
from nandlab.trace.job import COUNTERS_STEP, SETTLE_STEP, TraceOutcome, TraceRequest
from nandlab.traced import cost, tables
from nandlab.traced import tree as trees
from nandlab.traced.records import Recording
from nandlab.traced.tree import NONE, Tree
from nandlab.trial import workloadresult
from nandlab.trial.outcome import filter_kernel_log

COUNTED_BY_CHIP = {
    "reads": (("reads", "oob_reads"), ("reads", "oob_reads", "buffer_hits")),
    "programs": (("programs",), ("programs",)),
    "programs of spare bytes": (("oob_programs",), ("oob_programs",)),
    "erases": (("erases",), ("erases",)),
}
"""What must be equal: sums of the trace, and sums of the chip's counters. A page that the
chip still has in its register is read once more by the driver; the chip counts what is then read,
data or spare bytes, for the read that put the page there."""
UNKNOWN = ""


def refuse_existing_trace_folder(path: Path) -> None:
    """UsageError if a trace cannot be written there."""
    if path.exists():
        raise UsageError(f"{path}: is there already; name another folder with -o, or remove it")


def write_trace_folder(
    path: Path,
    request: TraceRequest,
    record: JobRecord,
    outcome: TraceOutcome,
    board: Board,
    image: bytes = b"",
) -> None:
    """Writes a trace's folder, whole or not at all; ``board`` made the record.

    image: the chip as it was when the trace began, of ``job.image``; empty: it is not kept.
    """
    refuse_existing_trace_folder(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with hold_scratch_folder(str(path.parent)) as folder:
        work = folder / "trace"
        work.mkdir()
        _fill_folder(work, request, record, outcome, board, image)
        work.rename(path)


def _fill_folder(
    work: Path,
    request: TraceRequest,
    record: JobRecord,
    outcome: TraceOutcome,
    board: Board,
    image: bytes,
) -> None:
    identity = board.identity
    symbols: Mapping[str, Sequence[str]] = request.spec.filesystem.symbols  # type: ignore[assignment]
    tree = trees.make_event_tree(outcome.recording, outcome.names, symbols)
    more, words = _make_columns(outcome.recording, tree, outcome.paths)
    to = (work / "events.parquet", work / "events.csv")
    tables.write_event_tables(
        outcome.recording, outcome.names, *to, extra_columns=more, words=words
    )
    timeline.write_perfetto_timeline(
        outcome.recording, outcome.names, tree, outcome.paths, work / "trace.pftrace"
    )
    table = summary.summarize_trace(outcome.recording, outcome.names, tree, outcome.paths)
    log = filter_kernel_log(request.spec, record)
    table |= {
        "lost": int(outcome.status["lost"]),
        "missed": int(outcome.status["missed"]),
        "chip": outcome.chip,
        "not_traced": outcome.absent,
        "cost": cost.compute_tracing_cost(
            table["requests"], outcome.probes, identity, table["trace_ns"]
        ),
    }
    early = _count_early_operations(outcome.recording, record)
    table["warnings"] = list_trace_warnings(request, record, table, log, early)
    if board.lock_differences:
        table["warnings"].append(f"not the locked board: {'; '.join(board.lock_differences)}")
    (work / "summary.json").write_text(json.dumps(table, indent=1) + "\n")
    meta = _make_meta(request, record, outcome, identity) | {"kernel_log": log}
    if image:
        (work / CHIP_IMAGE).write_bytes(image)
        meta["chip_image"] = digest_bytes(image)
    (work / "meta.json").write_text(json.dumps(meta, indent=1) + "\n")


def _make_columns(recording: Recording, tree: Tree, paths: Mapping[int, str]) -> tuple[Any, Any]:
    """What the tables have beside the records' own fields."""
    seq = recording.records["seq"]
    parent = np.where(tree.parent == NONE, 0, seq[tree.parent]) if len(seq) else seq
    inodes, at = np.unique(tree.inode, return_inverse=True)
    path = [paths.get(int(inode), UNKNOWN) for inode in inodes]
    more = {"parent": parent, "self_ns": tree.self_ns, "cause": tree.cause, "path": at}
    return more, {"cause": tree.causes, "path": path}


def _count_early_operations(recording: Recording, record: JobRecord) -> Mapping[str, int]:
    """What of the chip's operations began after the tracers, and before its counters were read:
    where a collector is at work then, the chip's count may lack these."""
    counters = record.get(COUNTERS_STEP)
    if counters is None:
        return {}
    r = recording.records
    return summary.summarize_flash_operations(r[r["start_ns"] < counters.end_ns])


def list_trace_warnings(
    request: TraceRequest,
    record: JobRecord,
    table: Mapping[str, Any],
    log: Sequence[str],
    early: Mapping[str, int],
) -> list[str]:
    """Why the trace may not be the whole truth, each in a sentence with what to do.

    early: operations of the trace that the chip's count may lack.
    """
    warnings = []
    if table["lost"]:
        warnings.append(
            f"{table['lost']} records were overwritten before they could be read, the oldest: "
            f"raise --records above {request.records}"
        )
    if table["missed"]:
        warnings.append(
            f"{table['missed']} events were seen by no probe: tracer_status in meta.json says whose"
        )
    if "flash" in request.tracers and not table["lost"]:
        for name, (ours, chip_s) in COUNTED_BY_CHIP.items():
            traced = sum(table["flash"][k] for k in ours)
            counted = sum(table["chip"][k] for k in chip_s)
            # of one partition the trace has a part of what the chip counted
            most = math.inf if request.only else traced
            if not traced - sum(early.get(k, 0) for k in ours) <= counted <= most:
                warnings.append(
                    f"flash {name}: {traced} in the trace, but the chip counted {counted}"
                )
    rested = record.get(SETTLE_STEP)
    if rested is not None and rested.ok and not workloadresult.parse_settle_result(rested.stdout):
        limit_s = request.spec.filesystem.settle.limit_s
        warnings.append(
            f"the flash was still at work {limit_s} s after the command: the trace ends there, and "
            "its counts may not be the chip's"
        )
    command = record["command"]
    if not command.ok:
        warnings.append(f"the command failed: {command.failure()}")
    later = next((s for s in record.steps if not s.ok and s.step != "command"), None)
    if later is not None:
        warnings.append(later.failure())
    warnings += record.cut()
    if log:
        warnings.append(f"the kernel warned, {len(log)} lines, the first: {log[0]}")
    return warnings


def _make_meta(
    request: TraceRequest, record: JobRecord, outcome: TraceOutcome, identity: dict[str, Any]
) -> dict[str, Any]:
    spec, command = request.spec, record["command"]
    return {
        "format": FORMAT,
        "nandlab": __version__,
        "command": request.command if request.command is not None else spec.workload.name,
        "before": request.before,
        "with_mount": request.with_mount,
        "copies": {copy.path: hashlib.sha256(copy.content).hexdigest() for copy in request.copies},
        "image": {"name": spec.image.name, "sha256": spec.image.sha256} if spec.image else None,
        "filesystem": spec.filesystem.name,
        "options": spec.options,
        "chip": spec.chip.name,
        "geometry": spec.chip.geometry.model_dump(),
        "partition_blocks": spec.partition_blocks,
        "state": spec.state.model_dump(),
        "seed": spec.seed,
        "tracers": list(request.tracers),
        "functions": list(request.functions),
        "records": request.records,
        "rc": command.rc,
        "command_ns": command.ns,
        "stdout": command.stdout,
        "stderr": command.stderr,
        "tracer_status": outcome.status,
        "kernel_threads": outcome.names.kernel_threads(),
        "board": identity,
        **_describe_layout(request),
    }


def _describe_layout(request: TraceRequest) -> dict[str, Any]:
    """The chip's partitions and the one that is traced; nothing where there is one."""
    layout = request.spec.layout
    return {"layout": layout.model_dump(mode="json"), "only": request.only} if layout else {}
