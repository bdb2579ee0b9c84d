# SPDX-License-Identifier: GPL-2.0-or-later
"""Random work on one file, every byte checked against a copy, on every file system."""

from __future__ import annotations

import json
import os
from collections.abc import Collection

import pytest
from support.place import Place, places

from nandlab.board.jobs.job import Board, JobRecord, Step
from nandlab.plan.medium import MOUNTPOINT

pytestmark = pytest.mark.board

SEED = int(os.environ.get("NANDLAB_SEED", "1"))
SHORT, LONG = 1000, 10_000


def fsx(
    place: Place, operations: int, more: str = "", differs: Collection[str] | None = None
) -> Step:
    """fsx on the file system, told what it declares, or what ``differs`` says instead."""
    declared = place.differs() if differs is None else differs
    maps = "--no-map-write " if "shared_writable_maps" in declared else ""
    return Step(
        "fsx",
        f"fsx --seed {SEED} --operations {operations} {maps}{more}"
        f"--remount '{place.remount()}' {MOUNTPOINT}/file",
        deadline_s=24 * 3600,
    )


def said(record: JobRecord) -> str:
    failed = record.failed()
    return f"{failed.step}:\n{failed.stdout}{failed.stderr}" if failed else ""


def holds(board: Board, place: Place, operations: int) -> None:
    step = fsx(place, operations)
    record, complaints = place.run(board, step)
    if record.failed():
        pytest.fail(f"{place.system} on {place.part}: {step.command}\n{said(record)}", False)
    assert complaints == []
    result = json.loads(record["fsx"].stdout.splitlines()[-1])
    assert sum(result["done"].values()) == operations
    assert all(result["done"].values()), "each kind of operation was done"


@pytest.mark.parametrize("place", places(every_part=False), ids=lambda p: p.system)
def test_every_byte_is_as_written(board: Board, place: Place) -> None:
    holds(board, place, SHORT)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("place", places(every_part=True), ids=lambda p: f"{p.system}-{p.part}")
def test_every_byte_is_as_written_ten_thousand_times(board: Board, place: Place) -> None:
    holds(board, place, LONG)


@pytest.mark.parametrize("place", places(every_part=False)[:1], ids=lambda p: p.system)
def test_a_byte_spoiled_on_flash_is_found(board: Board, place: Place) -> None:
    record, _ = place.run(board, fsx(place, 101, "--spoil 101 "))
    told = record["fsx"].stderr
    assert record["fsx"].rc == 1
    assert "1 of" in told
    assert "bytes from" in told
    assert f"seed {SEED}; the last operations:" in told
