# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests of simnand share: putting a chip in, running steps that must succeed, its counts."""

from __future__ import annotations

import asyncio

from nandlab.board.jobs.cargo import Cargo
from nandlab.board.jobs.job import Board, Job, JobRecord, Step


def modprobe(parameters: dict[str, int | str]) -> Step:
    """Loads simnand with parameters, by name."""
    return Step("load", "modprobe simnand " + " ".join(f"{k}={v}" for k, v in parameters.items()))


SYNCFS = "echo syncfs /mnt > /tmp/syncfs; fsops /tmp/syncfs /mnt"
"""Syncs the one file system by syncfs(2), and prints 0 or the error; busybox has only sync(2)."""


def held(path: str, text: str, then: str) -> str:
    """Commands that write a text to a file after a sync, and do more while the file stays open.

    A shell's own redirection would not do: it closes a copy of the descriptor after each write.
    """
    writer = f"(sleep 2; printf '{text}'; sleep 99) | dd of={path} bs={len(text)} conv=notrunc"
    return f"touch {path}; {writer} 2> /dev/null & sleep 1; sync; sleep 2; {then}; kill $!"


def run(
    board: Board,
    *steps: Step,
    files: dict[str, bytes] | None = None,
    cargo: Cargo | None = None,
) -> JobRecord:
    """Runs the steps; fails the test with what the first that failed said."""
    record = asyncio.run(board.run(Job(steps, files or {}, cargo=cargo)))
    failed = record.failed()
    assert failed is None, failed.failure()
    return record


def numbers(text: str) -> dict[str, int]:
    """Lines ``key value``, as the chip's counters are."""
    return {key: int(value) for key, value in (line.split() for line in text.splitlines())}
