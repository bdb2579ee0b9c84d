# SPDX-License-Identifier: GPL-2.0-or-later
"""Plays sequences on a file system and on tmpfs of the same board, many in one job."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from support.compare import Mismatch, adapted, compare, for_reference, outcomes, parts
from support.place import Place
from support.sequences import Sequence, closed

from nandlab.board.jobs.job import Board, BoardLost, JobRecord, Step
from nandlab.plan.medium import MOUNTPOINT

REFERENCE = "/tmp/reference"
BATCH = 40
"""Sequences of a job: their files must fit into the board's memory and the file system twice."""
SHRINK_ROUNDS = 40
"""Jobs that shrinking may take."""


@dataclass(frozen=True)
class Played:
    """What became of a batch: for each sequence how it differed, and what went wrong besides."""

    mismatches: list[Mismatch | None]
    trouble: str | None

    @property
    def ok(self) -> bool:
        return self.trouble is None and not any(self.mismatches)


def play(
    board: Board, place: Place, batch: list[Sequence], differs: Collection[str] | None = None
) -> Played:
    """Plays each sequence on the place and on tmpfs, and compares but for what is declared."""
    differs = place.differs() if differs is None else differs
    return play_each(board, place, tuple((sequence, differs) for sequence in batch))


def play_each(
    board: Board, place: Place, batch: tuple[tuple[Sequence, Collection[str]], ...]
) -> Played:
    """As play() does, but each sequence has what it is excused of beside it."""
    excused = [differs for _, differs in batch]
    sequences = [adapted(closed(s), differs) for s, differs in batch]
    taken_back = [for_reference(s, d) for s, d in zip(sequences, excused, strict=True)]
    files = files_of(sequences, "play", numbered=True)
    files |= files_of(taken_back, "reference", numbered=True)
    try:
        record, complaints = place.run(board, *_steps(place, len(files) // 2), files=files)
    except BoardLost as lost:
        tail = "\n  ".join(lost.console_tail[-30:])
        return Played([None] * len(batch), f"the board was lost: {lost.reason}\n  {tail}")
    subject, reference = said(record, "play"), said(record, "reference")
    played = [
        compare(s, subject.get(str(i), []), reference.get(str(i), []), excused[i])
        for i, s in enumerate(sequences)
    ]
    failed = record.failed()
    trouble = failed.failure() if failed else "; ".join(complaints[:5]) or None
    return Played(played, trouble)


def files_of(sequences: list[Sequence], name: str, numbered: bool = False) -> dict[str, bytes]:
    """A file for each part of the sequences: those of the n-th parts are played together.

    ``numbered``: the board's clock then says of each time which operation set it.
    """
    cut = [parts(s) for s in sequences]
    most = max(len(c) for c in cut)
    texts = ["" for _ in range(most)]
    for i, sequence in enumerate(cut):
        at = 0
        for n, part in enumerate(sequence):
            texts[n] += "\n".join([f"seq {i} {at}" if numbered else f"seq {i}", *part, ""])
            at += len(part) + 1  # and the remount
    return {f"{name}-{n}": text.encode() for n, text in enumerate(texts)}


def _steps(place: Place, count: int) -> list[Step]:
    steps = [Step("folder", f"mkdir {REFERENCE}")]
    for n in range(count):
        if n:
            steps.append(Step(f"remount-{n}", place.remount()))
        steps.append(Step(f"reference-{n}", f"fsops reference-{n} {REFERENCE}"))
        steps.append(Step(f"play-{n}", f"fsops play-{n} {MOUNTPOINT}"))
    return steps


def said(record: JobRecord, name: str) -> dict[str, list[str]]:
    """All outcomes by sequence, of all parts."""
    found: dict[str, list[str]] = {}
    for step in record.steps:
        if step.step.startswith(f"{name}-"):
            for sequence, lines in outcomes(step.stdout).items():
                found.setdefault(sequence, []).extend(lines)
    return found


def shrink(sequence: Sequence, failing: Callable[[list[Sequence]], list[bool]]) -> Sequence:
    """The fewest operations found that still fail, by leaving out ever smaller pieces.

    ``failing`` is asked about all ways to leave out a piece of one size at a time.
    """
    size = max(1, len(sequence) // 2)
    for _ in range(SHRINK_ROUNDS):
        ways = [sequence[:i] + sequence[i + size :] for i in range(0, len(sequence), size)]
        ways = [way for way in dict.fromkeys(ways) if way]
        fails = failing(ways) if ways else []
        shorter = next((way for way, bad in zip(ways, fails, strict=True) if bad), None)
        if shorter is not None:
            sequence = shorter
            size = min(size, max(1, len(sequence) // 2))
        elif size == 1:
            break
        else:
            size = max(1, size // 2)
    return sequence


def on_board(board: Board, place: Place) -> Callable[[list[Sequence]], list[bool]]:
    """Which sequences fail: all in one job, or, if that tells nothing of one, one by one."""

    def failing(ways: list[Sequence]) -> list[bool]:
        played = play(board, place, ways)
        if any(played.mismatches) or played.ok:
            return [m is not None for m in played.mismatches]
        return [not play(board, place, [way]).ok for way in ways]

    return failing
