# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs one trial; there is a result even if the board is lost."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from nandlab.base.digest import digest_bytes, digest_known_file
from nandlab.board.jobs.job import Board, BoardLost
from nandlab.board.kit.needs import FetchedPackages
from nandlab.plan.start import TreeStart
from nandlab.plan.trialspec import TrialSpec
from nandlab.results import record as results
from nandlab.results.record import Host
from nandlab.results.recordparts import Doubt
from nandlab.trial import steps
from nandlab.trial.kernelfindings import list_debug_checks
from nandlab.trial.outcome import make_trial_outcome
from nandlab.trial.request import describe_trial_request, dump_trial_catalog_entries


async def run_trial(
    spec: TrialSpec,
    board: Board,
    study: str,
    on_step: Callable[[str], None] | None = None,
) -> results.Trial:
    """Runs a trial and returns its result, even if the board is lost."""
    began = time.monotonic()
    todo = steps.make_trial_job(spec)
    common = describe_trial_request(spec, study)
    common["files"] = {name: content.decode() for name, content in todo.files.items()}
    try:
        record = await board.run(todo, on_step)
    except BoardLost as lost:
        memory: tuple[int, ...] = ()
        brought: dict[str, bytes] = {}
        outcome: dict[str, Any] = {
            "status": "board_lost",
            "error": lost.reason,
            "console_tail": lost.console_tail,
        }
    else:
        # In a thread: it may take minutes, and other boards must be answered meanwhile.
        outcome = await asyncio.to_thread(make_trial_outcome, spec, todo, record)
        memory = record.host_memory
        brought = _select_artefacts(record.cargo, outcome)
    doubts = list(outcome.pop("warnings", []))
    if not board.deterministic:
        clock = (
            "on a board of the user's own, on its clock"
            if spec.is_own_board
            else "under KVM, on host time"
        )
        doubts.insert(0, Doubt(code="not_deterministic", text=f"ran {clock}"))
    if checks := list_debug_checks(board.kernel_config):
        doubts.insert(0, Doubt(code="debug_kernel", text=f"it has {', '.join(checks)}"))
    doubts = add_lock_doubt(doubts, board, collect_trial_packages(spec, board))
    seconds = round(time.monotonic() - began, 3)
    host = Host(seconds=seconds, board=board.key, memory=list(memory))
    told = {**common, **outcome, "warnings": doubts, "host": host}
    return (
        results.Trial.model_validate(told)
        .add_sources(collect_trial_provenance(spec, board))
        .add_contents(brought)
    )


def _select_artefacts(cargo: bytes | None, outcome: dict[str, Any]) -> dict[str, bytes]:
    """What came back, if it is one of the trial's artefacts: an instrument's may be figures now."""
    if not cargo:
        return {}
    sha256 = digest_bytes(cargo)
    named = {artefact.sha256 for artefact in outcome.get("artefacts", [])}
    return {sha256: cargo} if sha256 in named else {}


def collect_trial_packages(spec: TrialSpec, board: Board) -> FetchedPackages:
    """The trial's packages beside the board's: of its programs, and of the tree it begins from."""
    found = board.packages(steps.make_trial_job_without_image(spec))
    if not isinstance(spec.image, TreeStart):
        return found
    lock = {**found.lock, spec.image.set_name: spec.image.packages}
    return FetchedPackages(lock, (*found.lock_differences, *spec.image.moved))


def add_lock_doubt(doubts: list[Doubt], board: Board, brought: FetchedPackages) -> list[Doubt]:
    """The doubts with the one that the board, or what was brought, is not as locked, if it is not.

    It is of the lock of today, so a trial that was run under another lock may have it wrong.
    """
    others = [doubt for doubt in doubts if doubt.code != "not_locked"]
    moved = [*board.lock_differences, *brought.lock_differences]
    told = [Doubt(code="not_locked", text="; ".join(moved))] if moved else []
    return [*told, *others]


def collect_trial_provenance(spec: TrialSpec, board: Board) -> dict[str, dict[str, Any]]:
    """What the trial ran with, in full: programs, board, and the catalog's entries."""
    brought = board.programs(steps.make_trial_job_without_image(spec))
    told = dump_trial_catalog_entries(spec)
    if lock := collect_trial_packages(spec, board).lock:
        told["packages"] = {name: dict(files) for name, files in lock.items()}
    programs = {name: digest_known_file(path) for name, path in brought.items()}
    return told | {"programs": programs, "board": board.identity}
