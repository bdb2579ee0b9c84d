# SPDX-License-Identifier: GPL-2.0-or-later
"""The processor's idle time in the load, and what the chip counted of each step; no board."""

from __future__ import annotations

import asyncio
import json
import tomllib

import pytest
from support.smallruns import MEASURED, TEXT, fake

from nandlab.board.jobs.fake import FakeResult
from nandlab.plan import study
from nandlab.plan.study import Study
from nandlab.plan.trialspec import TrialSpec
from nandlab.results.record import Trial
from nandlab.trial import execution
from nandlab.trial.steps import make_trial_job

PRINTED = f"{json.dumps(MEASURED)}\n"


@pytest.fixture
def specs() -> list[TrialSpec]:
    return study.plan_trials(Study.model_validate(tomllib.loads(TEXT)))


def chip_says(reads: int, busy: int) -> str:
    """simnand's counters."""
    told = {"reads": reads, "programs": 2 * reads, "erases": reads // 10, "busy_ns": busy}
    told |= {"warped_ns": busy - 5, "bytes_read": 7 * reads, "bytes_written": reads}
    return "".join(f"{key} {value}\n" for key, value in (told | {"buffer_hits": 3}).items())


CPU_ANSWERS = {
    "cpu-begin": FakeResult("idle_us 1000\n", counts=chip_says(10, 600)),
    "workload": FakeResult(PRINTED, counts=chip_says(30, 1600)),
    "cpu-end": FakeResult("idle_us 1750\n", counts=chip_says(30, 1600)),
}


def cpu_trial(specs: list[TrialSpec], **changed: FakeResult) -> Trial:
    spec = specs[0].model_copy(update={"measure": ["cpu"]})
    return asyncio.run(execution.run_trial(spec, fake(**{**CPU_ANSWERS, **changed}), "study"))


def test_the_processor_s_idle_time_is_of_the_load_alone(specs: list[TrialSpec]) -> None:
    spec = specs[0].model_copy(update={"measure": ["cpu"]})
    names = [step.name for step in make_trial_job(spec).steps]
    at = names.index("workload")
    assert names[at - 1 : at + 2] == ["cpu-begin", "workload", "cpu-end"]
    trial = cpu_trial(specs)
    told = trial.measured["cpu"]
    assert told.pop("span_ns") > 0
    assert told == {
        **{"idle_ns": 750_000, "reads": 20, "programs": 40, "erases": 2},
        **{"busy_ns": 1000, "warped_ns": 1000, "bytes_read": 140, "bytes_written": 20},
        "register_hits": 0,
    }
    assert not any(step.name.startswith("cpu") for step in trial.steps)


def test_idle_time_that_the_kernel_does_not_tell_is_absent_not_0(specs: list[TrialSpec]) -> None:
    told = cpu_trial(specs, **{"cpu-end": FakeResult("", counts=chip_says(30, 1600))}).measured[
        "cpu"
    ]
    assert "idle_ns" not in told
    assert told["busy_ns"] == 1000


def test_a_chip_that_was_loaded_anew_in_the_load_tells_nothing(specs: list[TrialSpec]) -> None:
    workload = FakeResult(PRINTED, counts=chip_says(5, 300))
    told = cpu_trial(specs, workload=workload).measured["cpu"]
    assert set(told) == {"span_ns", "idle_ns"}


def test_a_step_has_what_the_chip_counted_of_its_time_and_bus(specs: list[TrialSpec]) -> None:
    (step,) = [s for s in cpu_trial(specs).steps if s.name == "workload"]
    assert step.usage is not None
    assert step.usage.idle_ns is None
    assert (step.usage.busy_ns, step.usage.bytes_read) == (1000, 140)
