# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs one trial; there is a result even if the board is lost."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from nandlab.base.digest import bytes_digest, file_digest
from nandlab.board.job import Board, BoardLost, Job
from nandlab.kit.needs import Brought
from nandlab.plan.trialspec import TrialSpec
from nandlab.results import record as results
from nandlab.results.record import Chip, Doubt, Host, State
from nandlab.trial import steps
from nandlab.trial.outcome import outcome


async def run(
    spec: TrialSpec,
    board: Board,
    study: str,
    on_step: Callable[[str], None] | None = None,
) -> results.Trial:
    """Runs a trial and returns its result, even if the board is lost."""
    began = time.monotonic()
    todo = steps.job(spec)
    common = _common(spec, study, todo)
    try:
        record = await board.run(todo, on_step)
    except BoardLost as lost:
        memory: tuple[int, ...] = ()
        brought: dict[str, bytes] = {}
        found: dict[str, Any] = {
            "status": "board_lost",
            "error": lost.reason,
            "console_tail": lost.console_tail,
        }
    else:
        found, memory = outcome(spec, todo, record), record.host_memory
        brought = {bytes_digest(record.cargo): record.cargo} if record.cargo else {}
    doubts = list(found.pop("warnings", []))
    if not board.deterministic:
        doubts.insert(0, Doubt(code="not_deterministic", text="ran under KVM, on host time"))
    doubts = with_lock(doubts, board, packages(spec, board))
    seconds = round(time.monotonic() - began, 3)
    host = Host(seconds=seconds, board=board.key, memory=list(memory))
    told = {**common, **found, "warnings": doubts, "host": host}
    return results.Trial.model_validate(told).knowing(sources(spec, board)).holding(brought)


def packages(spec: TrialSpec, board: Board) -> Brought:
    """What the trial's programs are built from beside the board's packages."""
    return board.packages(steps.without_image(spec))


def with_lock(doubts: list[Doubt], board: Board, brought: Brought) -> list[Doubt]:
    """The doubts with the one that the board, or what was brought, is not as locked, if it is not.

    It is of the lock of today, so a trial that was run under another lock may have it wrong.
    """
    others = [doubt for doubt in doubts if doubt.code != "not_locked"]
    moved = [*board.moved, *brought.moved]
    told = [Doubt(code="not_locked", text="; ".join(moved))] if moved else []
    return [*told, *others]


def sources(spec: TrialSpec, board: Board) -> dict[str, dict[str, Any]]:
    """What the trial ran with, in full: programs, board, and the catalog's entries."""
    brought = board.programs(steps.without_image(spec))
    told = {
        key: said.model_dump()
        for key in ("controller", "power")
        if (said := getattr(spec.board, key)) is not None
    }
    if lock := packages(spec, board).lock:
        told["packages"] = {name: dict(files) for name, files in lock.items()}
    return told | {
        "programs": {name: file_digest(path) for name, path in brought.items()},
        "board": board.identity,
        "chip": spec.chip.model_dump(),
        "filesystem": spec.filesystem.model_dump(),
        "workload": spec.workload.model_dump(),
    }


def _common(spec: TrialSpec, study: str, todo: Job) -> dict[str, Any]:
    g = spec.chip.geometry
    return {
        "id": spec.id,
        "study": study,
        "filesystem": spec.filesystem.name,
        "options": spec.options,
        "chip": Chip(
            part=spec.chip.name,
            partition_mib=spec.partition_mib,
            pages_per_block=spec.chip.pages_per_block(),
            blocks=spec.partition_blocks,
            writesize=g.writesize,
            latency=spec.latency,
            faults={k: v for k, v in spec.faults.parameters(spec.seed).items() if k != "seed"},
        ),
        "state": State(**spec.state.model_dump()),
        "image": spec.image and results.Image(name=spec.image.name, sha256=spec.image.sha256),
        "workload": spec.workload.name,
        "parameters": spec.parameters,
        "seed": spec.seed,
        "phase_offset_ms": spec.phase_offset_ms,
        "files": {name: content.decode() for name, content in todo.files.items()},
    }
