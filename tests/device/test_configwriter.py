# SPDX-License-Identifier: GPL-2.0-or-later
"""The settings of the workload ``config``: their calls counted exactly, here and on the board."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support import lock
from support.native import dynamic, native

from nandlab.analysis.figures import groups
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.plan import study
from nandlab.results.record import Trial
from nandlab.trial import execution


def configwriter(
    folder: Path, *more: str, program: Path | None = None, **env: str
) -> subprocess.CompletedProcess[str]:
    argv = [str(program or native("configwriter")), str(folder), *more]
    env = {**os.environ, **env}
    return subprocess.run(argv, capture_output=True, text=True, check=False, env=env)


def told(folder: Path, *more: str, **how: Any) -> dict[str, Any]:
    done = configwriter(folder, *more, **how)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "settings"
    made.mkdir()
    return made


def test_saves_and_their_calls_are_counted_exactly(folder: Path) -> None:
    found = told(folder, "--files", "3", "--rounds", "4", "--bytes", "100")
    operations = dict.fromkeys(("write", "fsync", "rename", "fsync_folder", "save"), 12)
    assert found["operations"] == operations
    assert {k: v["count"] for k, v in found["latency_ns"].items()} == operations
    assert found["bytes"] == {"read": 0, "written": 1200}
    (phase,) = found["phases"]
    assert (phase["name"], phase["operations"]) == ("saving", operations)
    sizes = {p.name: p.stat().st_size for p in folder.iterdir()}
    assert sizes == dict.fromkeys((f"config.00000{i}" for i in range(3)), 100)


def list_calls(folder: Path, *words: str) -> list[str]:
    """The calls on files and their folder that the kernel saw, in order: name, file, bytes."""
    library, log = folder.parent / "savecalls.so", folder.parent / "calls"
    source = Path(__file__).with_name("savecalls.c")
    flags = ["-shared", "-fPIC", "-O1", "-Wall", "-Werror"]
    subprocess.run(["gcc", *flags, "-o", str(library), str(source), "-ldl"], check=True)
    program = dynamic("configwriter")
    told(folder, *words, program=program, LD_PRELOAD=str(library), CALLS=str(log))
    return [
        line for line in log.read_text().splitlines() if "config." in line or "settings" in line
    ]


def test_the_kernel_sees_those_calls_in_that_order(folder: Path) -> None:
    """Each save: written, synced, closed, renamed, and then its folder synced."""
    seen = list_calls(folder, "--files", "2", "--rounds", "3", "--bytes", "100")
    save = "write {0} 100\nfsync {0} 0\nclose {0} 0\nrename {0} 0\nfsync settings 0"
    files = ["config.000000.new", "config.000001.new"]
    wanted = [line for _ in range(3) for f in files for line in save.format(f).split("\n")]
    begun = seen.index(wanted[0])
    assert seen[begun : begun + len(wanted)] == wanted
    assert not [line for line in seen[begun + len(wanted) :] if not line.startswith("close")]


def test_the_making_is_a_phase_of_its_own_if_asked(folder: Path) -> None:
    """Its operations are its own, and the latencies are those of the saves alone."""
    found = told(folder, "--files", "3", "--rounds", "4", "--bytes", "100", "--time-making")
    making, saving = found["phases"]
    made = dict.fromkeys(("write", "fsync", "fsync_folder"), 3)
    saved = dict.fromkeys(("write", "fsync", "rename", "fsync_folder", "save"), 12)
    assert (making["name"], making["operations"]) == ("making", made)
    assert making["bytes"] == {"read": 0, "written": 300}
    assert (making["ns"] > 0, "sync_ns" in making) == (True, False)
    assert (saving["name"], saving["operations"]) == ("saving", saved)
    assert saving["bytes"] == {"read": 0, "written": 1200}
    assert found["operations"] == {k: n + made.get(k, 0) for k, n in saved.items()}
    assert found["bytes"] == {"read": 0, "written": 1500}
    assert {k: v["count"] for k, v in found["latency_ns"].items()} == saved


def test_a_making_that_is_timed_ends_with_the_folder_synced(folder: Path) -> None:
    """Each file is on flash by its own two syncs, before the chip is looked at."""
    seen = list_calls(folder, "--files", "2", "--rounds", "1", "--bytes", "9", "--time-making")
    one = "write {0} 9\nfsync {0} 0\nclose {0} 0\nfsync settings 0"
    files = ["config.000000", "config.000001"]
    wanted = [line for f in files for line in one.format(f).split("\n")]
    begun = seen.index(wanted[0])
    assert seen[begun : begun + len(wanted)] == wanted


def test_think_time_is_in_no_time(folder: Path) -> None:
    found = told(folder, "--files", "1", "--rounds", "5", "--interval-ms", "200")
    assert found["phases"][0]["ns"] < 900_000_000


def test_the_same_seed_gives_the_same_settings(tmp_path: Path) -> None:
    made = []
    for name, seed in (("a", "7"), ("b", "7"), ("c", "8")):
        (tmp_path / name).mkdir()
        told(tmp_path / name, "--rounds", "2", "--seed", seed)
        made.append((tmp_path / name / "config.000004").read_bytes())
    assert made[0] == made[1] != made[2]


def test_the_chip_is_what_changed_since_the_files_were_made(folder: Path, tmp_path: Path) -> None:
    chip = tmp_path / "chip"
    chip.mkdir()
    found = told(folder, "--flash", str(chip))
    assert found["per_block"] is None
    assert "chip" not in found["phases"][0]
    (chip / "counters").write_text("reads 7\nprograms 8\nerases 9\n")
    (chip / "blocks").write_text("0 1 2 3\n1 4 5 6\n")
    for file in folder.iterdir():
        file.unlink()
    found = told(folder, "--flash", str(chip))
    assert found["phases"][0]["chip"] == {"reads": 0, "programs": 0, "erases": 0}
    assert found["per_block"] == {key: [0, 0] for key in ("reads", "programs", "erases")}
    for file in folder.iterdir():
        file.unlink()
    making, saving = told(folder, "--flash", str(chip), "--time-making")["phases"]
    assert making["chip"] == saving["chip"] == {"reads": 0, "programs": 0, "erases": 0}
    assert ("chip_sync" in making, "chip_sync" in saving) == (False, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--files", "0"), "--files: 0 is out of range"),
        (("--rounds", "many"), "'many' is not a whole number"),
        (("--bytes", "16777217"), "--bytes: 16777217 is out of range"),
        (("--files", "100000", "--rounds", "1000"), "10000000 saves at the most"),
        (("--compressibility", "2"), "give a share from 0 to 1"),
        (("--what",), "unknown option"),
    ],
)
def test_what_cannot_be_done_is_refused(folder: Path, words: tuple[str, ...], said: str) -> None:
    done = configwriter(folder, *words)
    assert done.returncode == 2
    assert said in done.stderr
    assert not list(folder.iterdir())


def test_settings_that_are_there_are_not_written_over(folder: Path) -> None:
    told(folder)
    done = configwriter(folder)
    assert (done.returncode, done.stdout) == (1, "")
    assert "File exists" in done.stderr


def run_trial(board: QemuBoard, fs: str, workload: dict[str, Any]) -> Trial:
    words = {
        "name": "t",
        "question": "q",
        "board": board.machine.model.name,
        "matrix": {
            "workloads": [workload],
            "filesystems": [{"name": fs}],
            "chips": [{"part": "S34ML01G1", "partition_mib": 16}],
            "states": [{"name": "fresh"}],
            "seeds": [1],
        },
    }
    (spec,) = study.plan_trials(study.Study.model_validate(words))
    trial = asyncio.run(execution.run_trial(spec, board, "t"))
    assert trial.error is None
    return trial


@pytest.mark.board
@pytest.mark.parametrize("fs", ["jffs2", "ubifs", "yaffs2"])
def test_a_save_is_on_the_chip_when_it_returns(board: QemuBoard, fs: str) -> None:
    trial = run_trial(board, fs, {"name": "config", "files": 3, "rounds": 7})
    assert lock.doubts(trial.warnings) == []
    assert trial.operations == dict.fromkeys(
        ("write", "fsync", "rename", "fsync_folder", "save"), 21
    )
    (phase,) = trial.phases
    assert phase.chip is not None
    assert phase.chip_sync is not None
    # a save programs a page of data and one of names at the least, and leaves the last sync nothing
    assert phase.chip.programs - phase.chip_sync.programs >= 42
    assert trial.per_block is not None
    assert sum(trial.per_block.programs) == phase.chip.programs


PROGRAMS = {"jffs2": (0, 1), "ubifs": (3, 2), "yaffs2": (0, 4)}
"""Pages that the making of files programs, once and for each file. JFFS2 has all nodes of a small
file in one page; UBIFS fills up a page of each of two journal heads, whose new blocks it notes in
its log; YAFFS2 writes a file's header, its data, the header again, and the folder's."""


@pytest.mark.board
@pytest.mark.parametrize("fs", ["jffs2", "ubifs", "yaffs2"])
def test_a_making_and_the_saves_are_all_that_the_chip_counted(board: QemuBoard, fs: str) -> None:
    """At rest nothing is put off, so that the pages of the making are known."""
    files, rounds = 6, 11
    trial = run_trial(
        board, fs, {"name": "first-boot", "before": "rest", "files": files, "rounds": rounds}
    )
    making, saving = trial.phase("making"), trial.phase("saving")
    (step,) = [s for s in trial.steps if s.name == "saves"]
    assert making and making.chip and saving and saving.chip and step.chip
    once, each = PROGRAMS[fs]
    assert making.chip.programs == once + each * files
    assert making.chip.erases == 0
    assert making.operations == dict.fromkeys(("write", "fsync", "fsync_folder"), files)
    assert trial.bytes == {"read": 0, "written": files * (1 + rounds) * 400}
    assert trial.per_block is not None
    for kind in ("reads", "programs", "erases"):
        both = getattr(making.chip, kind) + getattr(saving.chip, kind)
        assert both == getattr(step.chip, kind) == sum(getattr(trial.per_block, kind))
    (setting,) = groups.group_trials_into_settings([trial])
    assert setting.headline(trial) == making.ns


@pytest.mark.board
def test_a_making_has_what_the_file_system_put_off(board: QemuBoard) -> None:
    """JFFS2 erases each block that holds nothing yet before its first fsync returns."""
    trial = run_trial(board, "jffs2", {"name": "first-boot", "before": "nothing", "rounds": 2})
    making, saving = trial.phase("making"), trial.phase("saving")
    assert making and making.chip and making.ns and saving and saving.ns
    blocks = 16 * 1024 // 128
    assert blocks - 2 <= making.chip.erases <= blocks
    assert (
        making.ns > making.chip.erases * 2_000_000 > 10 * saving.ns
    )  # 2 ms each: the chip's tBERS
