# SPDX-License-Identifier: GPL-2.0-or-later
"""The first record that is synced after a start, without a board: its step, figure and doubt."""

from __future__ import annotations

import asyncio
import tomllib

import pytest
from support.smallruns import TEXT, fake

from nandlab.analysis.figures import figures
from nandlab.analysis.figures.workloadwords import make_words_from_declaration
from nandlab.board.jobs.fake import FakeResult
from nandlab.plan import study
from nandlab.plan.study import Study
from nandlab.plan.trialspec import TrialSpec
from nandlab.results.record import Trial
from nandlab.results.recordparts import Doubt
from nandlab.trial import execution
from nandlab.trial.instruments.restart import DONE, NAME, STEP
from nandlab.trial.steps import SAVE_CHIP_STEP, make_trial_job


@pytest.fixture
def spec() -> TrialSpec:
    first = study.plan_trials(Study.model_validate(tomllib.loads(TEXT)))[0]
    return first.model_copy(update={"measure": [NAME]})


def trial(spec: TrialSpec, answer: FakeResult) -> Trial:
    return asyncio.run(execution.run_trial(spec, fake(**{STEP: answer}), "study"))


def doubts(trial: Trial) -> list[Doubt]:
    return [doubt for doubt in trial.warnings if doubt.code.startswith(NAME)]


def test_its_step_comes_when_all_else_is_over_and_changes_no_other(spec: TrialSpec) -> None:
    plain = make_trial_job(spec.model_copy(update={"measure": []})).steps
    with_space = make_trial_job(spec.model_copy(update={"measure": ["space", NAME]})).steps
    steps = make_trial_job(spec).steps
    assert [s for s in steps if s.name != STEP] == list(plain)
    assert [s.name for s in steps][-3:] == ["unmount", STEP, "kernel-log"]
    assert [s.name for s in with_space][-4:] == ["unmount", SAVE_CHIP_STEP, STEP, "kernel-log"]


def test_its_figure_is_the_time_of_mount_and_synced_write(spec: TrialSpec) -> None:
    told = trial(spec, FakeResult(f"{DONE}\n"))
    ns = told.measured[NAME]["durable_ns"]
    figure = figures.find_workload_figure(
        "ready.durable", make_words_from_declaration(spec.workload)
    )
    assert ns > 0
    assert (figure(told), figure.quantity.name, figure.better) == (ns, "time", "less")
    assert STEP not in [s.name for s in told.steps]
    assert told.ok and not doubts(told)


def test_a_write_that_fails_is_a_doubt_and_all_else_stands(spec: TrialSpec) -> None:
    told = trial(spec, FakeResult(stderr="no space left on device"))
    (doubt,) = doubts(told)
    assert told.ok and told.phases and NAME not in told.measured
    assert (doubt.code, doubt.text) == ("restart_failed", "no space left on device")
