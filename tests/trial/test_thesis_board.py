# SPDX-License-Identifier: GPL-2.0-or-later
"""The loads of the thesis of 2007 on the board, small: what was asked for is counted exactly."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.native import native
from support.trialsatonce import RecordedTrial, check_ended, run_trials_at_once

from nandlab.board.virtual.qemu import QemuBoard
from nandlab.plan import study
from nandlab.plan.trialspec import TrialSpec
from nandlab.results.record import Trial
from nandlab.results.recordparts import Phase

pytestmark = pytest.mark.board

ALL = ("jffs2", "ubifs", "yaffs2", "nftl-fat32")
ANEW = (("jffs2", 0), ("nftl-fat32", 100))
DURABLE = (("ubifs", 3, 0.3), ("yaffs2", 2, 0.1))
ROUNDS = "yaffs2", "ubifs"
TURNS = "jffs2", "yaffs2"
TURNED = 75
"""Steps, of 16 KiB each: a block."""
KIB = 1024
PLAIN = {"jffs2": {"compression": "none"}}
"""What the loads write is drawn: JFFS2 would only try to compress it."""


def planned(
    board: QemuBoard, name: str, fs: str, mib: int = 8, part: Any = "nandsim-small", **words: Any
) -> TrialSpec:
    told = {
        "name": "t",
        "question": "q",
        "board": board.machine.model.name,
        "matrix": {
            "workloads": [{"name": f"thesis-2007-{name}", **words}],
            "filesystems": [{"name": fs, **PLAIN.get(fs, {})}],
            "chips": [{"part": part, "partition_mib": mib}],
            "states": [{"name": "fresh"}],
            "seeds": [3],
        },
    }
    (spec,) = study.plan_trials(study.Study.model_validate(told))
    return spec


Words = dict[str, Any]
WEAR: Words = {
    **{"static_files": 4, "static_size": "1000000", "files": 10, "size": "pow2(1024,32768)"},
    **{"total_bytes": 3_000_000, "fsync_every": 1},
}


def plan_all(board: QemuBoard) -> Iterator[tuple[str, TrialSpec]]:
    """The trials of all tests, by name; those that fail come last."""
    sample: Words = {"sample": "own", "depth": 2, "dirs": "1", "size": "pow2(2,512)", "files": "50"}
    update: Words = {"file_bytes": 1_000_000, "updates": 500, "bytes": 10}
    durable: Words = {"file_bytes": 65536, "bytes": 10, "updates": 600, "fsync_every": 1}
    rounds: Words = {"files": 4, "size": "table(300000:1)", "rounds": 9, "fsync_every": 1}
    turns: Words = {"steps": TURNED, "rounds": 3, "open": "each"}
    for fs in ALL:
        yield f"sample {fs}", planned(board, "space", fs, **sample)
        yield f"wear {fs}", planned(board, "wear", fs, 16 if fs == "ubifs" else 8, **WEAR)
    for fs, every in ANEW:
        yield f"anew {fs}", planned(board, "ram", fs, **update, fsync_every=every)
    for fs, *_ in DURABLE:
        yield f"durable {fs}", planned(board, "ram", fs, 32, "apf27", **durable)
    yield "small files", planned(board, "ram", "yaffs2", load="files", files=2)
    for fs in ROUNDS:
        yield f"rounds {fs}", planned(board, "gc-sequential", fs, **rounds)
    for fs in TURNS:
        yield f"turns {fs}", planned(board, "gc-interleaved", fs, 2, **turns)
    mark: Words = {"files": 20, "transactions": 60, "size_max": 20_000}
    yield "ten times", planned(board, "postmark", "jffs2", **mark)
    large: Words = {"static_files": 2, "static_size": "1000000", "files": 250, "size": "20000"}
    yield "no room", planned(board, "wear", "jffs2", 4, **large)
    yield "above", planned(board, "ram", "jffs2", file_bytes=100, bytes=101)


Recorded = dict[str, RecordedTrial]


@pytest.fixture(scope="module")
def trials(board: QemuBoard) -> Recorded:
    """Those of all tests, of which none needs a board of its own."""
    return run_trials_at_once(board, dict(plan_all(board)))


def phase(of: Trial, name: str) -> Phase:
    found = of.phase(name)
    assert found is not None
    return found


@pytest.mark.parametrize("fs", ALL)
def test_a_sample_is_there_after_the_unmount(trials: Recorded, fs: str) -> None:
    found = check_ended(trials[f"sample {fs}"])
    # 100 files, 11 turns of nine sizes and a 2
    assert (found.figures["sample_files"], found.figures["sample_bytes"]) == (100, 11 * 1022 + 2)
    assert phase(found, "unmount").ns
    assert [p.name for p in found.phases] == ["first_mount", "rest", "sample", "unmount"]


@pytest.mark.parametrize(("fs", "every"), ANEW)
def test_updates_leave_a_file_that_is_read_anew(trials: Recorded, fs: str, every: int) -> None:
    found = check_ended(trials[f"anew {fs}"])
    updating = phase(found, "updating")
    synced = {"fsync": 5} if every else {}
    assert updating.operations == {"open": 1, "write": 500, **synced, "close": 1}
    assert updating.bytes == {"read": 0, "written": 5000}
    # each fsync leaves a page on the chip at least, and JFFS2 writes each update as it comes
    assert updating.chip is not None and updating.chip.programs >= 5
    assert phase(found, "read").bytes["read"] == 1_000_000
    assert found.texts["read_digest"] != found.texts["making_digest"]
    assert found.per_block is not None
    assert sum(found.per_block.programs) == updating.chip.programs


@pytest.mark.parametrize(("fs", "pages", "besides"), DURABLE)
def test_a_durable_update_costs_its_pages(
    trials: Recorded, fs: str, pages: int, besides: float
) -> None:
    """UBIFS writes the block of 4096 bytes anew, YAFFS2 the page and the file's header.

    A block's node is 4144 bytes, so the third of its pages is padding but for 48. The inode has
    whole seconds, and is written once in each. Besides: headers of UBI's blocks and commits;
    summaries of YAFFS2's, and updates that lie across two pages.
    """
    found = check_ended(trials[f"durable {fs}"])
    updating = phase(found, "updating")
    assert updating.operations["fsync"] == 600
    assert updating.chip is not None
    assert pages <= updating.chip.programs / 600 < pages + besides


def test_small_files_are_read_anew(trials: Recorded) -> None:
    found = check_ended(trials["small files"])
    assert found.figures["making_files"] == found.figures["read_files"] == 200
    assert found.texts["read_digest"] == found.texts["making_digest"]


@pytest.mark.parametrize("fs", ROUNDS)
def test_rounds_of_large_files_leave_nothing(trials: Recorded, fs: str) -> None:
    """Each file is synced: UBIFS never writes what was deleted before its turn came."""
    found = check_ended(trials[f"rounds {fs}"])
    writing, deleting = phase(found, "writing"), phase(found, "deleting")
    assert writing.operations == {"create": 36, "write": 36 * 5, "fsync": 36, "close": 36}
    assert writing.bytes["written"] == found.bytes["written"] == 36 * 300_000
    assert deleting.operations == {"unlink": 36}
    # more than the partition was written
    assert writing.chip is not None and found.per_block is not None
    assert writing.chip.programs * 512 > 8 << 20
    assert sum(found.per_block.erases) > 0


@pytest.mark.parametrize("fs", TURNS)
def test_hot_and_cold_are_written_by_turns(trials: Recorded, fs: str) -> None:
    found = check_ended(trials[f"turns {fs}"])
    writing, updating = phase(found, "writing"), phase(found, "updating")
    both = 2 * TURNED
    writes = {"writing_create": 2, "writing_open": both - 2, "writing_write": both}
    assert writing.operations == {**writes, "writing_close": both}
    assert updating.operations == dict.fromkeys(("open", "write", "close"), 3 * both)
    assert writing.bytes["written"] == TURNED * 16 * KIB
    assert updating.bytes["written"] == 3 * TURNED * 16 * KIB
    # 300 blocks into 128: the collector must have copied and erased
    assert updating.chip is not None and updating.chip.erases > 150


@pytest.mark.parametrize("fs", ALL)
def test_static_files_stay_beside_those_that_change(trials: Recorded, fs: str) -> None:
    """Synced, or UBIFS and FAT would write next to nothing: the page cache has it all."""
    found = check_ended(trials[f"wear {fs}"])
    made, again = phase(found, "making"), phase(found, "rewriting")
    assert found.figures["static_bytes"] == 4_000_000
    # a turn of six sizes is 63 KiB; four more are 15
    assert made.bytes["written"] == found.figures["file_bytes"] == 78 * KIB
    assert 3_000_000 <= again.bytes["written"] < 3_000_000 + 32 * KIB
    assert again.operations == dict.fromkeys(("open", "write", "fsync", "close"), 402)
    assert made.operations["making_fsync"] == 10
    assert found.per_block is not None
    assert made.chip is not None and again.chip is not None
    (step,) = (s for s in found.steps if s.name == "dynamic")
    assert step.chip is not None
    assert sum(found.per_block.erases) == step.chip.erases > 0
    # JFFS2's thread might erase a block between the two phases too, and erases them within
    assert step.chip.erases == made.chip.erases + again.chip.erases


def written_once(folder: Path, files: int, transactions: int, most: int, seed: int) -> int:
    """The bytes that a run of FFSMark writes here."""
    said = [f"location {folder}", f"number {files}", f"transactions {transactions}"]
    said += [f"size 128 {most}", f"seed {seed}"]
    commands = [word for each in said for word in ("--command", f"set {each}")]
    argv = [str(native("ffsmark")), "--json", *commands, "--command", "run"]
    done = subprocess.run(argv, check=True, capture_output=True)
    return int(json.loads(done.stdout)["bytes"]["written"])


def test_ffsmark_runs_ten_times_in_one_mount(trials: Recorded, tmp_path: Path) -> None:
    found = check_ended(trials["ten times"])
    for i in range(2, 11):
        for name in ("creation", "transactions", "deletion"):
            first, later = phase(found, f"run_1_{name}"), phase(found, f"run_{i}_{name}")
            assert list(later.operations.values()) == list(first.operations.values())
    once = written_once(tmp_path, 20, 60, 20_000, seed=3)
    assert found.bytes["written"] == 10 * once
    assert sum(p.name == "first_mount" for p in found.phases) == 1
    # through stdio whole pages of the cache are written: by 512 bytes it would be twice as much
    chips = [phase(found, f"run_1_{name}").chip for name in ("creation", "transactions")]
    assert once < 512 * sum(c.programs for c in chips if c) < 1.5 * once


def test_no_room_is_told_with_what_was_done(trials: Recorded) -> None:
    found = trials["no room"].trial
    assert found.status == "trial_failed"
    assert found.error is not None
    assert "step dynamic" in found.error
    assert "No space left on device" in found.error


def test_an_update_above_the_file_is_told(trials: Recorded) -> None:
    found = trials["above"].trial
    assert found.status == "trial_failed"
    assert found.error is not None and "has 100 bytes; give as many" in found.error
