# SPDX-License-Identifier: GPL-2.0-or-later
"""Studies that could not be answered, on the board: RAM beside latency, and members that are one.

The other traps: tests/plan/test_study.py (aged flash without shares), test_recorded.py beside it (a
recorded WAL on JFFS2), tests/device/test_replay.py (years of a recorded load), and
test_simnand_makers.py beside it (ids of each maker).
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from support import samples

from nandlab.analysis.figures import groups, members
from nandlab.analysis.verdicts import caveats, limits, verdictmaker
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.plan import study
from nandlab.plan.study import Study
from nandlab.results.record import Trial
from nandlab.trial import execution

pytestmark = pytest.mark.board


def run(board: QemuBoard, **change: Any) -> tuple[Study, list[Trial]]:
    matrix = {
        "workloads": [{"name": "logger", "records": 60, "file_bytes": 4096, "keep": 2}],
        "filesystems": [{"name": "jffs2", "compression": "none"}],
        "chips": [{"part": "S34ML01G1", "partition_mib": 16}],
        "states": [{"name": "fresh"}],
        "seeds": [1, 2],
    }
    words: dict[str, Any] = {"name": "t", "question": "q", "board": board.machine.model.name}
    words["matrix"] = matrix | change.pop("matrix", {})
    read = Study.model_validate(words | change)
    trials = [
        asyncio.run(execution.run_trial(spec, board, "t")) for spec in study.plan_trials(read)
    ]
    assert [t.error for t in trials] == [None] * len(trials)
    return read, trials


def test_ram_and_latency_are_answered_by_one_study(board: QemuBoard) -> None:
    read, trials = run(board, limits={"record.p99": "< 50ms", "ram": "< 4M"})
    assert [t.measure for t in trials] == [[], [], ["memory"], ["memory"]]
    (setting,) = groups.group_trials_into_settings(trials)
    asked = limits.make_limits_from_spec(read.model_dump(mode="json"))
    judged = limits.judge_ensemble_against_limits(setting, setting.ensembles[0], asked)
    assert {j.limit: j.outcome for j in judged} == {"record.p99 < 50ms": "met", "ram < 4M": "met"}
    verdict = verdictmaker.make_setting_verdict({}, setting, asked, samples.NAMING)
    assert [row.call for row in verdict.rows] == ["take"]
    times = setting.ensembles[0].spread(setting.headline)
    alone = [t.latency_ns["record"] for t in trials[:2]]
    assert times is not None
    assert times.marks[0] == min(latency.p99 for latency in alone if latency)


def test_a_seed_that_only_draws_bytes_makes_one_member_at_one_offset(board: QemuBoard) -> None:
    _, trials = run(board, matrix={"phase_offsets_ms": [0]})
    assert [t.seed for t in members.list_distinct_trials(trials)] == [1]
    assert caveats.count_single_trial_configurations(trials) == 1
    _, apart = run(board)
    assert [t.phase_offset_ms for t in apart] == [0, 307]
    assert len(members.list_distinct_trials(apart)) == 2
