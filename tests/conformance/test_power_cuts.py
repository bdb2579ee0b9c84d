# SPDX-License-Identifier: GPL-2.0-or-later
"""What sync(2) has returned from is on the flash: power goes then, and nothing is missing."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from loads import load
from replay import REFERENCE, files_of, said
from support.compare import Mismatch, adapted, compare, for_reference
from support.place import Place, places
from support.sequences import CUT, Sequence

from nandlab.board.jobs.job import Board, JobRecord, Step
from nandlab.plan.medium import MOUNTPOINT

pytestmark = pytest.mark.board

SEED = int(os.environ.get("NANDLAB_SEED", "1"))
SHORT, LONG = 10, 50
UNASSERTED = {"truncate_times"}
"""Declared, but the load gives no time to a file that it truncates."""
TOLD = {"nftl-fat32"}
"""Of these it is told what they lose, and no more: neither FAT nor NFTL promises anything."""
KEPT = Path(__file__).parents[2] / "build" / "conformance"


def steps(place: Place, parts: int) -> list[Step]:
    """Plays the parts on tmpfs; then on the place, with another machine after each."""
    found = [Step("folder", f"mkdir {REFERENCE}")]
    machine = place.another_machine()
    found += [Step(f"reference-{n}", f"fsops reference-{n} {REFERENCE}") for n in range(parts)]
    for n in range(parts):
        if n:
            found.append(Step(f"machine-{n}", machine))
        found.append(Step(f"play-{n}", f"fsops play-{n} {MOUNTPOINT}"))
    return found


def lost(board: Board, place: Place, cuts: int) -> str:
    """What was not as it was to be, first of all; empty: nothing."""
    differs = place.differs() - UNASSERTED
    place = replace(place, cut_short=True)
    sequence = adapted(load(SEED, cuts), differs)
    files = files_of([sequence], "play")
    files |= files_of([for_reference(sequence, differs)], "reference")
    # while the power is off, what works in the background complains
    record, _ = place.run(board, *steps(place, cuts + 1), files=files)
    subject, reference = (said(record, name).get("0", []) for name in ("play", "reference"))
    assert sequence.count(CUT) == cuts
    assert len(reference) == len([op for op in sequence if op != "remount"])
    return _told(record, sequence, compare(sequence, subject, reference, differs))


def _told(record: JobRecord, sequence: Sequence, mismatch: Mismatch | None) -> str:
    failed = record.failed()
    if mismatch is None:
        return failed.failure() if failed else ""
    after = sequence[: mismatch.at].count(CUT)
    since = failed.failure() if failed else "all steps ended well"
    return f"after {after} cuts, {mismatch}\n  {since}"


def nothing_synced_is_lost(board: Board, place: Place, cuts: int) -> None:
    what = lost(board, place, cuts)
    told = f"{place.system} on {place.part}, seed {SEED}, {cuts} cuts: {what or 'nothing lost'}"
    print(told)
    if place.system in TOLD:
        KEPT.mkdir(parents=True, exist_ok=True)
        (KEPT / f"{place.system}-{place.part}-cuts.txt").write_text(told + "\n")
    elif what:
        pytest.fail(told, pytrace=False)


@pytest.mark.parametrize("place", places(every_part=False, small=True), ids=lambda p: p.system)
def test_nothing_synced_is_lost_with_power(board: Board, place: Place) -> None:
    nothing_synced_is_lost(board, place, SHORT)


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    "place", places(every_part=True, small=True), ids=lambda p: f"{p.system}-{p.part}"
)
def test_nothing_synced_is_lost_with_power_fifty_times(board: Board, place: Place) -> None:
    nothing_synced_is_lost(board, place, LONG)
