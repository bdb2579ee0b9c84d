# SPDX-License-Identifier: GPL-2.0-or-later
"""The whole spine on the real board: from a study file to results that repeat exactly."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from support import lock
from support.busyhost import busy

from nandlab.analysis.differences.compare import compare_runs
from nandlab.board.jobs.job import Job, Step
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.cli.progress import SilentWatcher
from nandlab.plan import study
from nandlab.plan.study import Study
from nandlab.plan.trialspec import TrialSpec
from nandlab.results.folder import RunFolder
from nandlab.results.record import Trial
from nandlab.trial import execution, runner
from nandlab.trial import steps as trial
from nandlab.trial.outcome import make_trial_outcome

pytestmark = pytest.mark.board

TEXT = """
name = "spine"
question = "Does it repeat?"
board = "apf27"
[matrix]
workloads = [{ name = "ffsmark", files = 59, transactions = 211, subdirectories = 3 }]
filesystems = [
    { name = "jffs2", compression = "none" },
    { name = "ubifs", compression = "none" },
    { name = "ubifs", compression = "zstd", writeback = "off" },
    { name = "jffs2", compression = "zlib" },
]
chips = [{ part = "apf27", partition_mib = 16 }]
states = [{ name = "fresh" }]
seeds = [7]
phase_offsets_ms = [3.5]
"""
WHOLE_BLOCKS = '[{ name = "aged", valid = 0.2, invalid = 0.3 }]'
AGED = '[{ name = "aged", valid = 0.2, invalid = 0.1, mix = 1 }]'


def read(folder: Path, text: str = TEXT) -> Study:
    path = folder / "spine.toml"
    path.write_text(text)
    return study.read_study_file(path)


def execute(board: QemuBoard, made: Study, out: Path) -> RunFolder:
    specs = study.plan_trials(made)
    folder = runner.open_run_folder(runner.make_run_head(made, specs, board), out)
    asyncio.run(
        runner.run_trials(folder, specs, board, runner.LocalEngine(board, 2), SilentWatcher())
    )
    return folder


def test_a_run_repeats_to_the_nanosecond_beside_a_busy_core(
    board: QemuBoard, tmp_path: Path
) -> None:
    made = read(tmp_path)
    alone = execute(board, made, tmp_path / "alone")
    with busy(1):
        beside = execute(board, made, tmp_path / "beside")
    trials = list(alone.trials())
    assert [t.error for t in trials] == [None] * 4
    assert compare_runs(alone, beside) == []
    for t in trials:
        check_sound(t)


def check_sound(t: Trial) -> None:
    """What must hold of any good trial, whatever the file system."""
    assert [p.name for p in t.phases] == ["creation", "transactions", "deletion"]
    assert t.per_block is not None
    assert t.erases_per_block is not None
    assert t.phases[0].operations["create"] == 59
    assert t.operations["read"] + t.operations["append"] <= 211
    assert t.operations["delete"] == t.operations["create"]
    assert all(p.ns for p in t.phases)
    assert t.kernel_log == []
    assert lock.doubts(t.warnings) == []
    timed = [p.chip for p in t.phases if p.chip]
    of_steps = {s.name: s.chip for s in t.steps if s.chip}
    assert set(of_steps) == {s.name for s in t.steps}
    assert of_steps["load"].model_dump() == {"reads": 0, "programs": 0, "erases": 0}
    assert of_steps["mount"].reads > 0
    assert of_steps["workload"].programs >= sum(c.programs for c in timed)
    assert len(t.per_block.erases) == t.chip.blocks == 128
    assert sum(t.per_block.programs) >= sum(c.programs for c in timed) > 0
    assert sum(t.per_block.erases) >= sum(c.erases for c in timed)
    assert t.erases_per_block.max == max(t.per_block.erases)


@pytest.mark.parametrize("index", [0, 1])
def test_the_state_asked_for_is_obtained(board: QemuBoard, tmp_path: Path, index: int) -> None:
    made = read(tmp_path, TEXT.replace('[{ name = "fresh" }]', AGED))
    spec = study.plan_trials(made)[index]
    result = asyncio.run(execution.run_trial(spec, board, made.name))
    assert result.error is None
    obtained = result.state.obtained
    assert obtained is not None
    assert obtained.valid == pytest.approx(0.2, abs=0.02)
    assert obtained.invalid == pytest.approx(0.1, abs=0.02)


def counters(board: QemuBoard, spec: TrialSpec, after: str) -> dict[str, int]:
    """The chip's counts once a trial's own job has come to its step ``after``."""
    job = trial.make_trial_job(spec)
    names = [s.name for s in job.steps]
    steps = job.steps[: names.index(after) + 1]
    look = Step("look", "cat /sys/kernel/debug/simnand/counters")
    record = asyncio.run(board.run(Job((*steps, look), job.files)))
    assert record.failed() is None
    return {k: int(v) for k, v in (row.split() for row in record["look"].stdout.splitlines())}


def test_settle_waits_for_jffs2_to_erase_the_whole_chip(board: QemuBoard, tmp_path: Path) -> None:
    spec = study.plan_trials(read(tmp_path))[0]
    assert counters(board, spec, "settle")["erases"] == spec.partition_blocks == 128
    assert counters(board, spec, "settle")["oob_programs"] == 128


def test_a_full_disk_fails_the_trial_and_says_so(board: QemuBoard, tmp_path: Path) -> None:
    made = read(tmp_path, TEXT.replace("files = 59", "files = 5900"))
    result = asyncio.run(execution.run_trial(study.plan_trials(made)[0], board, made.name))
    assert result.status == "trial_failed"
    assert result.error is not None
    assert "space" in result.error.lower()
    assert result.phases == []


def test_the_state_told_is_the_one_that_the_load_begins_on(
    board: QemuBoard, tmp_path: Path
) -> None:
    """UBIFS erases blocks of invalid data by itself: the fill's own look may see more of them."""
    made = read(tmp_path, TEXT.replace('[{ name = "fresh" }]', WHOLE_BLOCKS))
    spec = study.plan_trials(made)[1]
    assert spec.filesystem.name == "ubifs"
    job = trial.make_trial_job(spec)
    record = asyncio.run(board.run(job))
    seen = json.loads(record["workload"].stdout.splitlines()[-1])["state"]["obtained"]
    told = make_trial_outcome(spec, job, record)["state"].obtained
    assert told.programmed == pytest.approx(seen["programmed"], abs=0.01)
    assert told.invalid == pytest.approx(told.programmed - told.before - told.valid, abs=0.03)


def test_results_tell_what_made_them(board: QemuBoard, tmp_path: Path) -> None:
    made = read(tmp_path)
    result = asyncio.run(execution.run_trial(study.plan_trials(made)[1], board, made.name))
    told = result.find_source("board")
    assert told["kernel"] == board.machine.kit.kernel.release
    (emulator,) = (
        f for f in told["lock"]["tools bookworm amd64"] if f.startswith("qemu-system-x86")
    )
    assert "_7.2" in emulator.replace("1%3a", "")
    assert {"init", "ferry", "simnand.ko"} <= told["parts"].keys()
    brought = result.find_source("programs")
    assert set(brought) == {"ffsmark", "settle"}
    assert all(len(sha) == 64 for sha in (*told["parts"].values(), *brought.values()))
    assert result.find_source("chip")["sources"]
    mount = result.step("mount")
    assert mount is not None
    assert mount.command is not None
    assert "compr=none" in mount.command
    assert "set number 59" in result.files["ffsmark.cfg"]
