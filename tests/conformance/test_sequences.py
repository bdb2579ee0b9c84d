# SPDX-License-Identifier: GPL-2.0-or-later
"""Every file system of the catalog does what tmpfs does, but for what it declares."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path

import pytest
from replay import BATCH, Played, files_of, on_board, play, said, shrink
from support.compare import compare
from support.place import Place, places
from support.sequences import Sequence, generate

from nandlab.board.jobs.job import Board, Job, Step

pytestmark = pytest.mark.board

SEED = int(os.environ.get("NANDLAB_SEED", "1"))
ONLY = os.environ.get("NANDLAB_SEQUENCE", "")
"""A sequence's number, or the path of a file that holds one: play that alone."""
KEPT = Path(__file__).parents[2] / "build" / "conformance"
SHORT, LONG = 40, 320


FOUND: dict[str, Sequence] = {
    "times-of-truncate": ("open 0 a c", "utime a 1350250381", "trunc a 511"),
    "ends-in-a-hole": ("open 0 a c", "ftrunc 0 20000", "ftrunc 0 8192", "remount"),
    "replaced-folder": ("mkdir e 755", "mkdir e/c 755", "mkdir e/d 755", "rename e/c e/d"),
}
"""What only hundreds of sequences showed once, in few operations."""


def chosen(count: int) -> list[tuple[str, Sequence]]:
    """Sequences with their names."""
    if ONLY and not ONLY.isdecimal():
        return [(Path(ONLY).stem, tuple(Path(ONLY).read_text().split("\n")[:-1]))]
    every = [(f"{SEED}-{i}", s) for i, s in enumerate(generate(count, SEED))]
    return [every[int(ONLY)]] if ONLY else [*FOUND.items(), *every]


def keep(place: Place, name: str, sequence: Sequence) -> Path:
    KEPT.mkdir(parents=True, exist_ok=True)
    path = KEPT / f"{place.system}-{place.part}-{name}.txt"
    path.write_text("\n".join(sequence) + "\n")
    return path


def told(board: Board, place: Place, name: str, sequence: Sequence, first: str) -> str:
    """A failure, with the shortest sequence that shows it and how to play that again."""
    lines = [f"{place.system} on {place.part}, sequence {name}: {first}"]
    if play(board, place, [sequence]).ok:
        lines.append("alone it does not fail: play the whole seed again")
    else:
        sequence = shrink(sequence, on_board(board, place))
        alone = play(board, place, [sequence])
        why = next((str(m) for m in alone.mismatches if m), alone.trouble)
        lines += [f"the {len(sequence)} operations that show it:", *(f"  {op}" for op in sequence)]
        lines.append(f"of those, {why}")
    path = keep(place, name, sequence)
    lines.append(
        f"again: NANDLAB_SEED={SEED} NANDLAB_SEQUENCE={path} "
        f"pytest -m '' {Path(__file__).relative_to(KEPT.parents[1])} -k {place.system}"
    )
    return "\n".join(lines)


def failure(board: Board, place: Place, batch: list[tuple[str, Sequence]], got: Played) -> str:
    bad = [(pair, m) for pair, m in zip(batch, got.mismatches, strict=True) if m]
    for (name, sequence), mismatch in bad:
        others = f"\n(and {len(bad) - 1} more of the batch)" if len(bad) > 1 else ""
        return told(board, place, name, sequence, str(mismatch)) + others
    for name, sequence in batch:  # nobody is named: find who does it alone
        if not play(board, place, [sequence]).ok:
            return told(board, place, name, sequence, str(got.trouble))
    return f"{place.system} on {place.part}, seed {SEED}, {batch[0][0]} and on: {got.trouble}"


def conform(board: Board, place: Place, count: int) -> None:
    sequences = chosen(count)
    assert sequences
    for start in range(0, len(sequences), BATCH):
        batch = sequences[start : start + BATCH]
        got = play(board, place, [s for _, s in batch])
        if not got.ok:
            pytest.fail(failure(board, place, batch, got), pytrace=False)


@pytest.mark.parametrize("place", places(every_part=False), ids=lambda p: p.system)
def test_it_does_what_tmpfs_does(board: Board, place: Place) -> None:
    conform(board, place, SHORT)


BEFORE = (
    *("open 0 a c", "write 0 0 9 1", "open 1 b c", "link a z", "mkdir d 755", "mkdir d/e 755"),
    *("setxattr a p 17 3", "open 2 d/f c"),
)
UNTOLD: dict[str, Sequence] = {
    "chmod": ("chmod a 644", "sync"),
    "write": ("write 0 0 9 1", "sync"),
    "truncate": ("ftrunc 0 20", "ftrunc 0 9"),
    "attribute": ("setxattr a p 17 3", "sync"),
    "link and unlink": ("link a y", "unlink y"),
    "rename": ("rename a y", "rename y a"),
    "create in a folder": ("open 2 d/g c", "unlink d/g"),
    "move to a folder": ("rename d/f d/e/f", "rename d/e/f d/f"),
    "mkdir": ("mkdir d/g 755", "rmdir d/g"),
}
"""Of each the last operation, or both, leave all but times as they were: so a file system that
does not set these is the same as one on which nothing was done."""


def test_a_time_that_is_not_set_is_found(board: Board) -> None:
    """Each is played on the board's tmpfs, and beside it the same without it."""
    sequences = [
        (*BEFORE, *ops, "check") for made in UNTOLD.values() for ops in (made, ("sync", "sync"))
    ]
    (play,) = files_of(sequences, "play", numbered=True).values()
    step = Step("play-0", "mkdir /tmp/there && fsops play /tmp/there")
    record = asyncio.run(board.run(Job((step,), {"play": play})))
    failed = record.failed()
    assert failed is None, failed.failure()
    trees = {name: lines[-1] for name, lines in said(record, "play").items()}
    missed = [
        name
        for i, name in enumerate(UNTOLD)
        if compare(("check",), [trees[f"{2 * i + 1}"]], [trees[f"{2 * i}"]]) is None
    ]
    assert missed == []
    bare = [re.sub(" [mc][0-9]+", "", tree) for tree in trees.values()]
    assert bare == [bare[0]] * len(bare)


FLIPS_PPT = 30_000_000
"""Bits in 10^12 that read wrong: one page in thirty or so has more in a step than ECC corrects."""


def test_flips_that_ecc_cannot_correct_are_found(board: Board) -> None:
    """A file system that loses data is not told from tmpfs by chance."""
    sequences = generate(10, SEED)
    sound, unsound = (
        Place("jffs2", "apf27", faults, mib=24) for faults in ({}, {"flip_ppt": FLIPS_PPT})
    )
    assert play(board, sound, sequences).ok
    got = play(board, unsound, sequences)
    assert got.trouble
    assert any(got.mismatches)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("place", places(every_part=True), ids=lambda p: f"{p.system}-{p.part}")
def test_it_does_what_tmpfs_does_hundreds_of_times(board: Board, place: Place) -> None:
    conform(board, place, LONG)
