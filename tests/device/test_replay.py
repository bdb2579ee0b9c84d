# SPDX-License-Identifier: GPL-2.0-or-later
"""The program ``replay``: known calls are counted exactly, here and on the board."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support import lock, straces
from support.native import native
from support.replays import EVERY

from nandlab.analysis.figures import groups
from nandlab.analysis.verdicts import forecast, limits
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.catalog.from_strace.workload import TraceWorkload
from nandlab.plan import study
from nandlab.trial import execution


def replay(folder: Path, text: str, *more: str) -> subprocess.CompletedProcess[str]:
    script, at = folder / "load.txt", folder / "at"
    script.write_text(text)
    at.mkdir(exist_ok=True)
    argv = [str(native("replay")), str(script), str(at), *more]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def told(folder: Path, text: str, *more: str) -> dict[str, Any]:
    done = replay(folder, text, *more)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_every_call_is_made_and_counted_by_its_kind(tmp_path: Path) -> None:
    found = told(tmp_path, EVERY)
    assert found["operations"] == {
        **{"open": 4, "close": 2, "read": 6, "write": 5, "write_sync": 1, "seek": 1, "fsync": 3},
        **{"sync": 2, "flush": 1, "rename": 3, "link": 2, "unlink": 1, "mkdir": 1, "rmdir": 1},
        **{"resize": 3, "stat": 5, "list": 1, "change": 8, "advise": 1, "failed": 5},
    }
    assert {k: v["count"] for k, v in found["latency_ns"].items()} == found["operations"]
    assert found["bytes"] == {"read": 5040, "written": 198}
    assert found["figures"]["unlike"] == 0 and found["warnings"] == []
    assert found["figures"]["prepared"] == 4
    prepare, done = found["phases"]
    assert (prepare["name"], done["name"]) == ("prepare", "replay")
    assert done["operations"] == found["operations"]
    at = tmp_path / "at" / "d"
    assert sorted(p.name for p in at.iterdir()) == ["a", "bé x", "f", "h", "s"]
    assert (at / "bé x").stat().st_size == 20
    assert (at / "f").stat().st_size == 100


def test_the_chip_s_blocks_are_told_as_they_changed(tmp_path: Path) -> None:
    chip = tmp_path / "chip"
    chip.mkdir()
    assert told(tmp_path, "calls\nsync\n", "--flash", str(chip))["per_block"] is None
    (chip / "counters").write_text("reads 7\nprograms 8\nerases 9\n")
    (chip / "blocks").write_text("0 1 2 3\n1 4 5 6\n")
    found = told(tmp_path, "calls\nsync\n", "--flash", str(chip))
    assert found["per_block"] == {key: [0, 0] for key in ("reads", "programs", "erases")}
    assert [p["chip"] for p in found["phases"]] == [{"reads": 0, "programs": 0, "erases": 0}] * 2


def test_think_time_is_slept_and_in_no_latency(tmp_path: Path) -> None:
    text = "calls\nmkdir a\n+200000 mkdir b\n+100000 mkdir c\n"
    found = told(tmp_path, text)
    assert 0.29e9 < found["figures"]["think"] < 0.6e9
    assert found["phases"][1]["ns"] < 0.1e9
    for way, least in (("0", 0), ("0.1", 0.029e9)):
        (tmp_path / way).mkdir()
        slept = told(tmp_path / way, text, "--think", way)["figures"]["think"]
        assert least <= slept < 0.2e9


def test_what_is_written_is_of_the_seed_and_the_compressibility(tmp_path: Path) -> None:
    text = "calls\nopen 1 a O_WRONLY|O_CREAT 644\nwrite 1 4096\n"
    made = []
    for name, words in (("a", ["--seed", "1"]), ("b", ["--seed", "2"]), ("c", ["--seed", "1"])):
        (tmp_path / name).mkdir()
        told(tmp_path / name, text, *words)
        made.append((tmp_path / name / "at" / "a").read_bytes())
    assert made[0] == made[2] != made[1]
    (tmp_path / "z").mkdir()
    told(tmp_path / "z", text, "--compressibility", "1")
    assert (tmp_path / "z" / "at" / "a").read_bytes() == bytes(4096)


def test_a_call_that_returns_otherwise_is_counted_and_told(tmp_path: Path) -> None:
    text = "file a 10\ncalls\nopen 1 a O_RDONLY\nread 1 100 = 7\nopen 2 a O_RDONLY = -ENOENT\n"
    found = told(tmp_path, text)
    assert found["figures"]["unlike"] == 2
    (doubt,) = found["warnings"]
    assert doubt.startswith("unlike: 2 calls returned otherwise ")
    assert "line 4, read" in doubt and "10, where the trace has 7" in doubt


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("calls\nopen 1 nope O_RDONLY\n", 1, "line 2: open nope: No such file or directory; the"),
        ("calls\nread 1 10\n", 1, "line 2: read : Bad file descriptor"),
        ("file a 1\nfile a 1\ncalls\nsync\n", 1, "line 2: a cannot be made: File exists"),
        ("", 2, "is empty"),
        ("dir a\n", 2, "has no line 'calls'"),
        ("calls\nfrobnicate 1\n", 2, "line 2: no such call here: 'frobnicate'"),
        ("calls\nread 1\n", 2, "line 2: arguments are missing"),
        ("calls\nread 1 10 20\n", 2, "line 2: more than this call takes"),
        ("calls\nread x 10\n", 2, "not a whole number: 'x'"),
        ("calls\nread 70000 10\n", 2, "not the number of an open file"),
        ("calls\nopen 1 /etc/passwd O_RDONLY\n", 2, "not a path below the folder"),
        ("calls\nunlink a/../../b\n", 2, "not a path below the folder"),
        ('calls\nunlink "a\n', 2, "a quote is not closed"),
        ('calls\nunlink "a\\q"\n', 2, "no such \\ sequence"),
        ('calls\nunlink "a\\x00"\n', 2, "no such \\ sequence"),
        ("calls\nopen 1 a O_WHAT\n", 2, "not a flag of open: 'O_WHAT'"),
        ("calls\nunlink a = -EIO\n", 2, "not an error that is replayed"),
        ("calls\nunlink a =\n", 2, "nothing after ="),
        ("calls\nmkdir a 9\n", 2, "not a mode"),
        ("calls\n+x sync\n", 2, "not a whole number"),
        ("calls\n+5\n", 2, "no call after its time"),
        ("calls\nread 1 99999999999\n", 2, "more bytes than a call may ask for"),
        (f"calls\nunlink {'a' * 5000}\n", 2, "a word is too long"),
    ],
)
def test_what_cannot_be_done_is_refused(tmp_path: Path, text: str, code: int, said: str) -> None:
    done = replay(tmp_path, text)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr
    assert code == 1 or not list((tmp_path / "at").iterdir())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--think", "-1"], "--think -1: expected 0"),
        (["--compressibility", "2"], "give a share from 0 to 1"),
        (["--payload", "zeros"], "one of random, postmark"),
        (["--cache", "hot"], "one of warm, cold"),
        (["one", "more"], "one argument too many"),
    ],
)
def test_options_are_checked(tmp_path: Path, words: list[str], said: str) -> None:
    done = replay(tmp_path, "calls\nsync\n", *words)
    assert done.returncode == 2
    assert said in done.stderr


def workload(home: Path, made: TraceWorkload) -> None:
    """Puts a recorded load into a catalog."""
    (home / "workloads").mkdir(parents=True)
    (home / "workloads" / f"{made.name}.toml").write_text(made.text())


@pytest.mark.board
def test_a_recorded_load_tells_the_years_of_its_chip(
    board: QemuBoard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its erases are counted block by block, as of any load."""
    lines = [
        '1 1700000000.000000 openat(AT_FDCWD, "/d/a", O_RDWR|O_CREAT|O_TRUNC, 0644) = 3 <0.000010>'
    ]
    for i in range(40):
        at = f"1 {1_700_000_000 + i / 100:.6f}"
        lines.append(f'{at} pwrite64(3, "x"..., 262144, 0) = 262144 <0.000010>')
        lines.append(f"{at} fsync(3) = 0 <0.000010>")
    trace = tmp_path / "app.strace"
    trace.write_text("\n".join(lines) + "\n")
    workload(tmp_path / "catalog", TraceWorkload(trace, "/d", "app"))
    monkeypatch.setenv("NANDLAB_CATALOG", str(tmp_path / "catalog"))
    words = {
        "name": "t",
        "question": "q",
        "board": board.machine.model.name,
        "product": {
            "chip": {"part": "S34ML01G1", "partition_mib": 2},
            "years": 1,
            "loads": [{"name": "app", "daily_write": "1M"}],
        },
        "matrix": {
            "filesystems": [{"name": "jffs2", "compression": "none"}],
            "states": [{"name": "fresh"}],
            "seeds": [1],
        },
    }
    read = study.Study.model_validate(words)
    (spec,) = study.plan_trials(read)
    trial = asyncio.run(execution.run_trial(spec, board, "t"))
    assert trial.error is None
    foretold = forecast.forecast_writable_bytes(trial)
    assert isinstance(foretold, forecast.WriteForecast)
    (setting,) = groups.group_trials_into_settings([trial])
    judged = limits.judge_ensemble_against_limits(
        setting, setting.ensembles[0], limits.make_limits_from_spec(read.model_dump())
    )
    assert {j.limit: j.outcome for j in judged}["lifetime"] == "met"


@pytest.mark.board
@pytest.mark.parametrize(
    ("name", "fs"),  # JFFS2 cannot run a WAL: tests/plan/test_recorded.py
    [
        *(("sqlite-rollback", fs) for fs in ("jffs2", "ubifs")),
        *(("dpkg", fs) for fs in ("jffs2", "ubifs")),
        ("sqlite-wal", "ubifs"),
    ],
)
def test_a_recorded_program_on_flash_makes_the_trace_s_calls(
    board: QemuBoard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fs: str, name: str
) -> None:
    made = TraceWorkload(straces.recording(name), "/srv/build" if name == "dpkg" else None, name)
    workload(tmp_path / "catalog", made)
    words: dict[str, Any] = {
        "name": "t",
        "question": "q",
        "board": board.machine.model.name,
        "matrix": {
            "workloads": [{"name": name}],
            "filesystems": [{"name": fs}],
            "chips": [{"part": "S34ML01G1", "partition_mib": 16}],
            "states": [{"name": "fresh"}],
            "seeds": [1],
        },
    }
    monkeypatch.setenv("NANDLAB_CATALOG", str(tmp_path / "catalog"))
    (spec,) = study.plan_trials(study.Study.model_validate(words))
    trial = asyncio.run(execution.run_trial(spec, board, "t"))
    assert trial.error is None
    assert lock.doubts(trial.warnings) == []
    assert trial.operations == {kind: n for kind, n in made.recorded.kinds.items() if n}
    assert trial.bytes == {"read": made.recorded.read, "written": made.recorded.written}
    assert trial.figures["unlike"] == 0
    prepare, phase = trial.phases
    assert (prepare.name, phase.name) == ("prepare", "replay")
    assert phase.chip is not None
    # each fsync after a write programs a page at least
    assert phase.chip.programs >= made.recorded.kinds["fsync"] // 2
    # each block's counts sum to the phase's, as of any load
    assert trial.per_block is not None
    assert sum(trial.per_block.programs) == phase.chip.programs
    assert sum(trial.per_block.erases) == phase.chip.erases
    (setting,) = groups.group_trials_into_settings([trial])
    assert setting.headline(trial) == (phase.ns or 0) + (phase.sync_ns or 0)
    fsyncs = trial.latency_ns["fsync"]
    assert fsyncs is not None and trial.figures["fsync_p99"] == fsyncs.p99
    assert trial.figures["think"] == pytest.approx(made.recorded.think_ns, rel=0.2)
