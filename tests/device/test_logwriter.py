# SPDX-License-Identifier: GPL-2.0-or-later
"""The log of the workload ``logger``: known work is counted exactly, here and on the board."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support import lock
from support.native import native

from nandlab.analysis.figures import groups
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.plan import study
from nandlab.trial import execution


def logwriter(folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    argv = [str(native("logwriter")), str(folder), *more]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def told(folder: Path, *more: str) -> dict[str, Any]:
    done = logwriter(folder, *more)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


SMALL = ("--records", "100", "--record-bytes", "100", "--file-bytes", "1050", "--keep", "3")


def test_records_commits_and_rotations_are_counted_exactly(tmp_path: Path) -> None:
    found = told(tmp_path, *SMALL, "--history", "2", "--commit-every", "4")
    # ten records fill a file: commits after the 4th, the 8th, and before the rotation
    operations = {"append": 100, "commit": 30, "record": 100, "rotate": 9}
    assert found["operations"] == operations
    assert {k: v["count"] for k, v in found["latency_ns"].items()} == operations
    assert found["bytes"] == {"read": 0, "written": 10_000}
    (phase,) = found["phases"]
    assert (phase["name"], phase["operations"]) == ("logging", operations)
    sizes = {p.name: p.stat().st_size for p in tmp_path.iterdir()}
    assert sizes == {"log.000010": 1000, "log.000011": 1000, "log.000012": 1000}


def test_a_record_is_from_its_append_to_the_end_of_its_commit(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    latency = told(tmp_path / "one", *SMALL)["latency_ns"]
    append, commit, record = (latency[name] for name in ("append", "commit", "record"))
    assert record["min"] >= append["min"] + commit["min"]
    assert record["max"] >= max(append["max"], commit["max"])
    (tmp_path / "alone").mkdir()
    found = told(tmp_path / "alone", "--records", "1")
    append, commit, record = (found["latency_ns"][n]["max"] for n in ("append", "commit", "record"))
    # its clock is read between the append and the commit too, on a host that may be busy
    assert append + commit <= record <= found["phases"][0]["ns"]
    (tmp_path / "ten").mkdir()
    waiting = told(tmp_path / "ten", *SMALL, "--commit-every", "10")["latency_ns"]
    # of ten records the first waits for nine appends and the commit, the last for its own
    assert waiting["record"]["max"] >= waiting["commit"]["max"] + 9 * waiting["append"]["min"]


def test_a_history_is_full_files_and_in_no_figure(tmp_path: Path) -> None:
    found = told(tmp_path, *SMALL, "--records", "3", "--history", "2")
    assert found["operations"] == {"append": 3, "commit": 3, "record": 3, "rotate": 0}
    assert found["latency_ns"]["rotate"] is None
    sizes = {p.name: p.stat().st_size for p in tmp_path.iterdir()}
    assert sizes == {"log.000001": 1050, "log.000002": 1050, "log.000003": 300}


def test_pauses_are_in_no_time(tmp_path: Path) -> None:
    found = told(tmp_path, "--records", "5", "--interval-ms", "200")
    assert found["phases"][0]["ns"] < 900_000_000


def test_the_same_seed_gives_the_same_log(tmp_path: Path) -> None:
    logs = []
    for name, seed in (("a", "7"), ("b", "7"), ("c", "8")):
        (tmp_path / name).mkdir()
        told(tmp_path / name, "--records", "9", "--seed", seed)
        logs.append((tmp_path / name / "log.000001").read_bytes())
    assert logs[0] == logs[1] != logs[2]


def test_the_chip_is_what_changed_since_the_history(tmp_path: Path) -> None:
    chip, work = tmp_path / "chip", tmp_path / "work"
    chip.mkdir()
    work.mkdir()
    assert told(work, "--flash", str(chip))["per_block"] is None
    (chip / "counters").write_text("reads 7\nprograms 8\nerases 9\n")
    (chip / "blocks").write_text("0 1 2 3\n1 4 5 6\n")
    (work / "log.000001").unlink()
    found = told(work, "--flash", str(chip))
    assert found["phases"][0]["chip"] == {"reads": 0, "programs": 0, "erases": 0}
    assert found["per_block"] == {key: [0, 0] for key in ("reads", "programs", "erases")}


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--record-bytes", "2000", "--file-bytes", "1000"), 2, "is larger than a file"),
        (("--history", "4"), 2, "give less than --keep"),
        (("--records", "0"), 2, "--records: 0 is out of range"),
        (("--records", "many"), 2, "'many' is not a whole number"),
        (("--compressibility", "2"), 2, "give a share from 0 to 1"),
        (("--what",), 2, "unknown option"),
    ],
)
def test_what_cannot_be_done_is_refused(
    tmp_path: Path, words: tuple[str, ...], code: int, said: str
) -> None:
    done = logwriter(tmp_path, *words)
    assert done.returncode == code
    assert said in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_log_that_is_there_is_not_written_over(tmp_path: Path) -> None:
    told(tmp_path)
    done = logwriter(tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "create" in done.stderr
    assert "File exists" in done.stderr


@pytest.mark.board
@pytest.mark.parametrize("fs", ["jffs2", "ubifs", "yaffs2"])
def test_a_commit_is_on_the_chip_when_it_returns(board: QemuBoard, fs: str) -> None:
    words = {
        "name": "t",
        "question": "q",
        "board": board.machine.model.name,
        "matrix": {
            "workloads": [{"name": "logger", "records": 60, "file_bytes": 4096, "keep": 2}],
            "filesystems": [{"name": fs}],
            "chips": [{"part": "S34ML01G1", "partition_mib": 16}],
            "states": [{"name": "fresh"}],
            "seeds": [1],
        },
    }
    (spec,) = study.plan_trials(study.Study.model_validate(words))
    trial = asyncio.run(execution.run_trial(spec, board, "t"))
    assert trial.error is None
    assert lock.doubts(trial.warnings) == []
    assert trial.operations == {"append": 60, "commit": 60, "record": 60, "rotate": 3}
    assert trial.bytes == {"read": 0, "written": 60 * 256}
    (phase,) = trial.phases
    assert phase.chip is not None
    assert phase.chip_sync is not None
    assert trial.per_block is not None
    # each commit and rotation programs a page at least, and leaves next to nothing to the last sync
    assert phase.chip.programs - phase.chip_sync.programs >= 63
    assert sum(trial.per_block.programs) == phase.chip.programs
    append, commit, record = (trial.latency_ns[name] for name in ("append", "commit", "record"))
    assert append and commit and record
    # each record's page is programmed in its append or in its commit
    chip = spec.chip.timing.t_prog_ns
    assert record.min >= chip
    assert record.min >= append.min + commit.min
    (setting,) = groups.group_trials_into_settings([trial])
    rate = setting.figure("own.records_per_s")(trial)
    assert rate == pytest.approx(60e9 / ((phase.ns or 0) + (phase.sync_ns or 0)))
    assert setting.headline(trial) == record.p99
