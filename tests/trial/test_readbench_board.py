# SPDX-License-Identifier: GPL-2.0-or-later
"""The workload ``readbench`` on the board: known reads are counted exactly by the chip."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from support import lock
from support.smalltrial import skip_where_refused
from support.trialsatonce import RecordedTrial, check_ended, run_trials_at_once

from nandlab.board.virtual.qemu import QemuBoard
from nandlab.plan import study
from nandlab.plan.trialspec import TrialSpec
from nandlab.results.record import Trial
from nandlab.results.recordparts import Phase
from nandlab.trial import execution

pytestmark = pytest.mark.board

MIB = 1 << 20
LARGE = {"part": "S34ML01G1", "partition_mib": 16}
"""Pages of 2 KiB: a page of the kernel's cache is two of them."""
SMALL = {"part": "nandsim-small", "partition_mib": 16}


def spec(
    board: QemuBoard,
    fs: str,
    points: str,
    chip: dict[str, Any] | None = None,
    read_ahead: str | int = "default",
    **parameters: Any,
) -> TrialSpec:
    """A trial that verifies what it reads; read_ahead: KiB."""
    words = {
        "name": "t",
        "question": "q",
        "board": board.machine.model.name,
        "matrix": {
            "workloads": [{"name": "readbench", "points": points, "verify": True, **parameters}],
            "filesystems": [{"name": fs, "read_ahead": read_ahead}],
            "chips": [chip or LARGE],
            "states": [{"name": "fresh"}],
            "seeds": [1],
        },
    }
    (made,) = study.plan_trials(study.Study.model_validate(words))
    return skip_where_refused(made, board)


def run(board: QemuBoard, made: TrialSpec) -> Trial:
    trial = asyncio.run(execution.run_trial(made, board, "t"))
    assert trial.error is None
    assert lock.doubts(trial.warnings) == []
    return trial


Recorded = dict[str, RecordedTrial]


@pytest.fixture(scope="module")
def trials(board: QemuBoard) -> Recorded:
    """Trials of which none needs a board of its own; the one that fails comes last."""
    pool: dict[str, Any] = {"files": 20, "file_bytes_min": 16384, "file_bytes_max": 40960}
    # the kernel keeps a read-ahead once it is set: those that ask for none come first
    specs = {f"back {fs}": spec(board, fs, BACK, chip, file_bytes=MIB) for fs, chip in CHIPS}
    specs["pool"] = spec(board, "yaffs2", "4K head=25,100", **pool)
    specs["known"] = spec(board, "yaffs2", POINTS, read_ahead=0)
    specs |= {
        f"advice {fs} {kib}": spec(board, fs, ADVICE, read_ahead=kib)
        for fs in ("jffs2", "yaffs2")
        for kib in (0, 128)
    }
    specs["no room"] = spec(board, "yaffs2", "8x4K seq", file_bytes=16 * MIB - 4096)
    return run_trials_at_once(board, specs)


def phase(trial: Trial, name: str) -> Phase:
    found = trial.phase(name)
    assert found is not None and found.chip is not None
    return found


def reads(trial: Trial) -> dict[str, int]:
    """Page reads of the chip, by point."""
    return {p.name: p.chip.reads for p in trial.phases[1:] if p.chip is not None}


KNOWN = {
    "sequential_8x4096": 16,
    "sequential_64x4096": 128,
    "sequential_1280x4096": 2560,
    "random_1280x4096": 2560,  # each page of the file once
    "random_64x4096_mmap": 128,
    "random_64x4096_pread": 128,
    "backward_100x4096": 200,
    "stride_16_10x4096": 20,
    "random_64x8192_mmap": 256,  # both pages of a request are touched
    "sequential_64x2048": 64,  # two requests share a page of the cache
    "stride_2_64x2048": 128,
    "sequential_64x4096_pause_1000": 128,
    "sequential_64x4096_drop_3": 128,
}
POINTS = """
    8,64,1280x4K seq; 1280x4K random; 64x4K random mmap,pread; 100x4K backward; 10x4K stride=16
    64x8K random mmap; 64x2K seq; 64x2K stride=2; 64x4K seq pause=1ms; 64x4K seq drop=3
"""


def test_yaffs2_reads_just_the_pages_that_are_asked_for(trials: Recorded) -> None:
    """Without read-ahead, two flash pages a page of the cache."""
    trial = check_ended(trials["known"])
    assert reads(trial) == KNOWN
    for p in trial.phases[1:]:
        size, count = (p.at[key] for key in ("size", "count"))
        assert p.bytes == {"read": int(size) * int(count), "written": 0}
        assert p.operations == {p.name: count}
        latency = trial.latency_ns[p.name]
        assert latency is not None and latency.count == count
        assert latency.min <= trial.figures[f"{p.name}_first_ns"] <= latency.max
        assert p.chip is not None and (p.chip.programs, p.chip.erases) == (0, 0)
    written = phase(trial, "writing")
    assert written.bytes == {"read": 0, "written": 5 * MIB}
    assert written.chip is not None and 2560 <= written.chip.programs <= 2620


def test_a_point_repeats_and_pauses_are_in_no_time(board: QemuBoard) -> None:
    made = spec(board, "yaffs2", "256x4K seq; 256x4K seq pause=100us,1ms,5ms")
    trial = run(board, made)
    assert run(board, made).model_dump(exclude={"host"}) == trial.model_dump(exclude={"host"})
    plain, *paused = trial.phases[1:]
    for p in paused:
        # what the kernel still does after a wake-up falls into the request: 250 instructions each
        assert p.ns == pytest.approx(plain.ns, abs=256 * 1000)
        assert p.usage is None
    usage = plain.usage
    assert usage is not None and plain.ns is not None
    assert usage.bytes_read == 512 * (2048 + 64)
    assert usage.busy_ns is not None and 0.5 * plain.ns < usage.busy_ns < plain.ns
    step = trial.step("workload")
    assert step is not None and step.ns > 255 * 6_100_000  # the pauses were really slept


ADVICE = """
    64x4K random mmap madv=none,random; 64x4K seq fadv=none,random,sequential
    16x4K seq fadv=willneed
"""


@pytest.mark.parametrize("fs", ["jffs2", "yaffs2"])
def test_advice_reaches_the_kernel(trials: Recorded, fs: str) -> None:
    off = reads(check_ended(trials[f"advice {fs} 0"]))
    trial = check_ended(trials[f"advice {fs} 128"])
    on = reads(trial)
    for name in ("random_64x4096_mmap_madv_random", "sequential_64x4096_fadv_random"):
        assert on[name] == off[name]
    for name in ("random_64x4096_mmap", "sequential_64x4096"):
        assert on[name] > 1.4 * off[name]
    assert on["sequential_64x4096_fadv_sequential"] > on["sequential_64x4096"]
    # before the first request a window is read, 128 KiB of the file, whatever was asked for
    assert on["sequential_16x4096_fadv_willneed"] == 0
    assert 64 <= trial.figures["sequential_16x4096_fadv_willneed_open_reads"] < 70


BACK = "256x4K seq,random,backward; 9x3000 random-unaligned; 256x4K random mmap"
CHIPS = (("jffs2", LARGE), ("ubifs", LARGE), ("yaffs2", SMALL), ("nftl-fat32", SMALL))


@pytest.mark.parametrize(("fs", "chip"), CHIPS)
def test_every_file_system_gives_back_what_was_written(
    trials: Recorded, fs: str, chip: dict[str, Any]
) -> None:
    trial = check_ended(trials[f"back {fs}"])
    assert trial.bytes == {"read": 4 * MIB + 27000, "written": 0}
    for name in ("sequential_256x4096", "random_256x4096", "random_256x4096_mmap"):
        read = phase(trial, name).chip
        assert read is not None and read.reads * (2048 if chip is LARGE else 512) >= MIB


def test_heads_of_a_pool_are_read_file_by_file(trials: Recorded) -> None:
    trial = check_ended(trials["pool"])
    quarter, whole = trial.phases[1:]
    assert whole.bytes["read"] == whole.at["file_bytes"]
    count = int(quarter.at["count"])
    assert 20 <= count <= 40
    assert quarter.bytes["read"] == count * 4096
    assert quarter.chip is not None and quarter.chip.reads == 2 * count
    assert whole.at["files"] == 20


def test_a_file_that_does_not_fit_fails_the_trial_with_the_reason(trials: Recorded) -> None:
    trial = trials["no room"].trial
    assert trial.status == "trial_failed"
    assert trial.error is not None
    assert f"do not fit: of {16 * MIB - 4096} bytes" in trial.error
