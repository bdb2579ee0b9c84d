# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests of simnand share: putting a chip in, running steps that must succeed, its counts."""

from __future__ import annotations

import asyncio

from nandlab.board.job import Board, Job, JobRecord, Step


def modprobe(parameters: dict[str, int | str]) -> Step:
    """Loads simnand with parameters, by name."""
    return Step("load", "modprobe simnand " + " ".join(f"{k}={v}" for k, v in parameters.items()))


def run(board: Board, *steps: Step, files: dict[str, bytes] | None = None) -> JobRecord:
    """Runs the steps; fails the test with what the first that failed said."""
    record = asyncio.run(board.run(Job(steps, files or {})))
    failed = record.failed()
    assert failed is None, failed.failure()
    return record


def numbers(text: str) -> dict[str, int]:
    """Lines ``key value``, as the chip's counters are."""
    return {key: int(value) for key, value in (line.split() for line in text.splitlines())}
