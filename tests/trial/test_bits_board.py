# SPDX-License-Identifier: GPL-2.0-or-later
"""Wrong bits on the board: a known number of them, UBI's scrubs, and bits that rot."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from support.smalltrial import planned, skip_where_refused
from support.trialsatonce import run_trials_at_once

from nandlab.board.jobs.job import Job, Step
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.flash.chip import simnand
from nandlab.plan import study
from nandlab.plan.trialspec import TrialSpec
from nandlab.results.record import Trial
from nandlab.trial.instruments.bits import INSTRUMENT as BITS
from nandlab.trial.steps import make_trial_job

pytestmark = pytest.mark.board

ONE_BIT = range(100, 110)
"""Blocks whose first page, which has UBI's header, gets a wrong bit."""
TWO_BITS = 120
"""The block whose first page gets two in one step of the ECC."""


def test_a_known_number_of_flips_is_counted_exactly(board: QemuBoard) -> None:
    spec = skip_where_refused(planned(board, "ubifs"), board)
    pages = spec.chip.pages_per_block()
    places = [(b * pages, 100) for b in (*ONE_BIT, TWO_BITS)] + [(TWO_BITS * pages, 101)]
    plant = "; ".join(f"echo {page} {bit} > {simnand.DEBUG_FOLDER}/flip" for page, bit in places)
    steps = []
    for step in make_trial_job(spec).steps:
        if step.name == "kernel-log":
            steps += [
                Step("plant", plant),
                Step("look", "dd if=/dev/mtd0 of=/dev/null bs=16k conv=noerror 2> /dev/null"),
            ]
        steps.append(Step("workload", "true") if step.name == "workload" else step)
    record = asyncio.run(board.run(Job(tuple(steps))))
    assert record.failed() is None
    before, after = (simnand.parse_bit_counts(record[s].counts) for s in ("plant", "look"))
    assert set(before.values()) == {0}
    assert after == {"wrong": 12, "corrected": 10, "failed_steps": 1, "failed_pages": 1}
    assert BITS.reading.figures(spec, record, ()) == {**after, "scrubs": 0}


def plan_rotten(board: QemuBoard, **words: Any) -> TrialSpec:
    """A trial of bit rot with these parameters, on small pages whose bits rot fast."""
    study_of = {
        "name": "t",
        "question": "q",
        "board": board.machine.model.name,
        "matrix": {
            "workloads": [{"name": "bit-rot", "files": 4, **words}],
            "filesystems": [{"name": "ubifs"}],
            "chips": [
                {
                    "part": "nandsim-small",
                    "partition_mib": 8,
                    "faults": {"flip_day_ppt": 100_000},
                }
            ],
            "states": [{"name": "fresh"}],
            "seeds": [3],
        },
    }
    (spec,) = study.plan_trials(study.Study.model_validate(study_of))
    return spec


@pytest.fixture(scope="module")
def rotten(board: QemuBoard) -> dict[str, Trial]:
    words: dict[str, dict[str, Any]] = {
        "new": {"days": 0},
        "old": {"days": 300},
        "kept": {"days": 15, "times": 20, "scrubber": "volume"},
        "scrubbed": {"days": 20, "times": 3, "scrubber": "volume"},
    }
    specs = {name: plan_rotten(board, **each) for name, each in words.items()}
    found = {name: each.trial for name, each in run_trials_at_once(board, specs).items()}
    assert {trial.error for trial in found.values()} == {None}
    return found


def test_bits_rot_with_the_days_and_a_scrubber_keeps_them(rotten: dict[str, Trial]) -> None:
    new = rotten["new"]
    assert set(new.measured["bits"].values()) == {0}
    assert new.figures["files_lost"] == 0
    old = rotten["old"]
    assert old.measured["bits"]["failed_pages"] > 0
    assert old.figures["files_lost"] > 0
    kept = rotten["kept"]
    assert kept.figures["files_lost"] < old.figures["files_lost"]


def test_a_scrubber_s_moves_are_counted(rotten: dict[str, Trial]) -> None:
    scrubbed = rotten["scrubbed"]
    assert scrubbed.measured["bits"]["scrubs"] > 0
    assert scrubbed.figures["files_lost"] == 0
