# SPDX-License-Identifier: GPL-2.0-or-later
"""Wrong bits of a trial: what the chip counts of them, and UBI's scrubs; no board."""

from __future__ import annotations

import asyncio
import json
import tomllib

import pytest
from support.smallruns import MEASURED, TEXT, fake

from nandlab.analysis.differences.compare import compute_trial_digest
from nandlab.analysis.figures import figures
from nandlab.analysis.figures.workloadwords import make_workload_words_for_trials
from nandlab.board.jobs.fake import FakeResult
from nandlab.plan import study
from nandlab.plan.study import Study
from nandlab.plan.trialspec import TrialSpec
from nandlab.results.record import Trial
from nandlab.trial import execution

PRINTED = f"{json.dumps(MEASURED)}\n"
OLD_LINE = "<6>[    0.000001] ubi0: scrubbed PEB 1 (LEB 0:1), data moved to PEB 9\n"
"""From before the job."""


@pytest.fixture
def specs() -> dict[str, TrialSpec]:
    planned = study.plan_trials(Study.model_validate(tomllib.loads(TEXT)))
    return {s.filesystem.name: s for s in planned}


def chip_says(wrong: int, corrected: int, failed: int, pages: int) -> str:
    """simnand's counters."""
    told = {"reads": 1, "programs": 2, "erases": 3, "flipped_bits": wrong}
    told |= {"ecc_corrected": corrected, "ecc_failed": failed, "ecc_failed_pages": pages}
    return "".join(f"{key} {value}\n" for key, value in told.items())


def run(spec: TrialSpec, **answers: FakeResult) -> Trial:
    usual = {"workload": FakeResult(PRINTED, counts=chip_says(9, 5, 2, 1))}
    return asyncio.run(execution.run_trial(spec, fake(**{**usual, **answers}), "t"))


def log(*scrubbed_s: float) -> FakeResult:
    lines = [
        f"<5>[{at:12.6f}] ubi0: scrubbed PEB 3 (LEB 0:1), data moved to PEB 9\n"
        for at in scrubbed_s
    ]
    return FakeResult(OLD_LINE + "".join(lines))


def test_bits_are_of_the_whole_trial_and_scrubs_of_its_log(specs: dict[str, TrialSpec]) -> None:
    later = FakeResult("", counts=chip_says(12, 6, 4, 3))
    trial = run(specs["ubifs"], unmount=later, **{"kernel-log": log(1e6, 2e6)})
    assert trial.measured["bits"] == {
        **{"wrong": 12, "corrected": 6, "failed_steps": 4, "failed_pages": 3},
        "scrubs": 2,
    }
    words = make_workload_words_for_trials([trial])
    assert figures.find_workload_figure("bits.failed_pages", words)(trial) == 3


def test_without_errors_they_are_zero_and_only_ubi_scrubs(specs: dict[str, TrialSpec]) -> None:
    sound = FakeResult(PRINTED, counts=chip_says(0, 0, 0, 0))
    none = {"wrong": 0, "corrected": 0, "failed_steps": 0, "failed_pages": 0}
    on_ubi = run(specs["ubifs"], workload=sound, **{"kernel-log": log()})
    assert on_ubi.measured["bits"] == {**none, "scrubs": 0}
    assert run(specs["jffs2"], workload=sound).measured["bits"] == none


def test_a_log_that_begins_in_the_trial_tells_no_scrubs(specs: dict[str, TrialSpec]) -> None:
    cut = FakeResult("<5>[1000000.000000] ubi0: scrubbed PEB 3 (LEB 0:1), data moved to PEB 9\n")
    assert "scrubs" not in run(specs["ubifs"], **{"kernel-log": cut}).measured["bits"]


def test_a_chip_that_is_loaded_anew_adds_to_the_sum(specs: dict[str, TrialSpec]) -> None:
    anew = FakeResult("", counts=chip_says(1, 1, 0, 0))
    told = run(specs["jffs2"], unmount=anew).measured["bits"]
    assert told == {"wrong": 10, "corrected": 6, "failed_steps": 2, "failed_pages": 1}


def test_zeros_are_what_older_results_lack(specs: dict[str, TrialSpec]) -> None:
    sound = FakeResult(PRINTED, counts=chip_says(0, 0, 0, 0))
    trial = run(specs["jffs2"], workload=sound)
    rest = {k: v for k, v in trial.measured.items() if k != "bits"}
    older = trial.model_copy(update={"measured": rest})
    assert compute_trial_digest(older) == compute_trial_digest(trial)
    wrong = run(specs["jffs2"])
    assert compute_trial_digest(wrong.model_copy(update={"measured": rest})) != (
        compute_trial_digest(wrong)
    )
