# SPDX-License-Identifier: GPL-2.0-or-later
"""A small study on the fake board: its text, what its steps print, and its run."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from nandlab.board.jobs.fake import FakeBoard, FakeResult
from nandlab.cli.progress import SilentWatcher
from nandlab.plan import study
from nandlab.plan.study import Study
from nandlab.plan.trialspec import TrialSpec
from nandlab.results.record import Trial
from nandlab.trial import runner

PHASES = ("creation", "transactions", "deletion")
OPERATIONS = ("create", "read", "append", "delete")
TEXT = """
name = "small"
question = "Which?"
board = "apf27"
[matrix]
workloads = [{ name = "ffsmark", files = 10 }]
filesystems = [{ name = "jffs2" }, { name = "ubifs" }]
chips = [{ part = "apf27", partition_mib = 8 }]
states = [{ name = "aged", valid = 0.5, invalid = 0.25, mix = 1 }]
seeds = [1, 2]
"""
MEASURED = {
    "phases": [{"name": phase, "ns": 5, "sync_ns": 1} for phase in PHASES],
    "operations": dict.fromkeys(OPERATIONS, 1),
    "bytes": {"read": 1, "written": 2},
    "latency_ns": dict.fromkeys(OPERATIONS),
    "warnings": ["careful: sentence"],
}
OBTAINED = {"before": 0.0, "valid": 0.51, "invalid": 0.21, "programmed": 0.72}
FILLED = {
    "phases": [{"name": "fill", "ns": 7}],
    "state": {"asked": {"valid": 0.5, "invalid": 0.25, "mix": 1.0}, "obtained": OBTAINED},
    "warnings": ["fill-off-target: invalid pages"],
}


def read(folder: Path) -> Study:
    path = folder / "small.toml"
    path.write_text(TEXT)
    return study.read_study_file(path)


def fake(**answers: FakeResult) -> FakeBoard:
    results = {
        **{
            name: FakeResult()
            for name in ("load", "modules", "format", "mount", "counters", "unmount")
        },
        "settle": FakeResult('{"settled":true}\n'),
        "fill": FakeResult(f"{json.dumps(FILLED)}\n"),
        "workload": FakeResult(f"Some report\n{json.dumps(MEASURED)}\n"),
        "kernel-log": FakeResult(),
    }
    return FakeBoard(answers={**results, **answers})


def execute(tmp_path: Path, board: FakeBoard, specs: list[TrialSpec]) -> list[Trial]:
    tmp_path.mkdir(exist_ok=True)
    folder = runner.open_run_folder(
        runner.make_run_head(read(tmp_path), specs, board), tmp_path / "run"
    )
    asyncio.run(
        runner.run_trials(folder, specs, board, runner.LocalEngine(board, 2), SilentWatcher())
    )
    return list(folder.trials())


def counts(n: int, programmed: int) -> str:
    return f"reads {n}\nprograms {2 * n}\nerases {3 * n}\npartition_pages 1000\n" + (
        f"pages_programmed {programmed}\nblocks_erased {n + 7}\n"
    )
