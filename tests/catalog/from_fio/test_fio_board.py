# SPDX-License-Identifier: GPL-2.0-or-later
"""A job file of fio on the board: known work is counted exactly, by the program and by the chip."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from support import lock

from nandlab.board.virtual.qemu import QemuBoard
from nandlab.catalog.from_fio import jobfile, workload
from nandlab.plan import study
from nandlab.trial import execution

JOBS = """
[global]
size=128k
filename=x
overwrite=1
[often]
rw=randwrite
fsync=2
[seldom]
stonewall
rw=randwrite
fsync=4
[back]
stonewall
rw=randread
"""
STUDY = """
name = "jobs"
question = "?"
board = "{board}"
[matrix]
workloads = [{{ name = "jobs" }}]
filesystems = [{{ name = "yaffs2" }}]
chips = [{{ part = "apf27", partition_mib = 8 }}]
states = [{{ name = "fresh" }}]
seeds = [1]
"""
PAGES = (128 << 10) // 2048


@pytest.mark.board
def test_jobs_of_known_pages(board: QemuBoard, tmp_path: Path) -> None:
    (tmp_path / "jobs.fio").write_text(JOBS)
    place = tmp_path / "catalog" / "workloads" / "jobs.toml"
    place.parent.mkdir(parents=True)
    place.write_text(
        workload.format_workload_file(jobfile.read_fio_job_file(tmp_path / "jobs.fio"), "jobs")
    )
    (tmp_path / "jobs.toml").write_text(STUDY.format(board=board.machine.model.name))
    (spec,) = study.plan_trials(study.read_study_file(tmp_path / "jobs.toml"))
    trial = asyncio.run(execution.run_trial(spec, board, "t"))
    assert (trial.status, trial.error) == ("ok", None)
    assert lock.doubts(trial.warnings) == []
    assert [p.name for p in trial.phases] == ["layout", "often", "seldom", "back"]
    # fio syncs before the next request: none follows the last of 32 writes
    assert trial.operations == {
        **{"often_write": 32, "often_fsync": 15},
        **{"seldom_write": 32, "seldom_fsync": 7, "back_read": 32},
    }
    assert trial.bytes == {"read": 128 << 10, "written": 256 << 10}
    chip = {p.name: p.chip for p in trial.phases}
    often, seldom, back = chip["often"], chip["seldom"], chip["back"]
    assert often is not None and seldom is not None and back is not None
    # each page of the file is read once, and a page of YAFFS2's is a chunk of the file
    assert (back.reads, back.programs) == (PAGES, 0)
    # each page once, and a header of the file for each sync that has something to write
    assert seldom.programs >= PAGES + 8
    assert often.programs - seldom.programs == 15 - 7
    assert trial.latency_ns["often_fsync"] is not None
    assert trial.latency_ns["often_fsync"].count == 15
    runtime = trial.figures["back_runtime"]
    assert trial.figures["back_read_bw"] == pytest.approx((128 << 10) / (runtime / 1e9))
    assert trial.figures["back_read_iops"] == pytest.approx(32 / (runtime / 1e9))
