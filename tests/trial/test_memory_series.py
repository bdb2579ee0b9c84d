# SPDX-License-Identifier: GPL-2.0-or-later
"""RAM over time: what is asked of the board, and what is read from what fsram printed; no board."""

from __future__ import annotations

import asyncio
import tomllib

import pytest
from support.smallruns import TEXT, fake

from nandlab.base.errors import UsageError
from nandlab.board.jobs.fake import BOOTED_NS, FakeResult
from nandlab.catalog.files import validate_data
from nandlab.plan import study
from nandlab.plan.study import Study
from nandlab.plan.trialspec import MemorySeries, TrialSpec
from nandlab.results.record import Trial
from nandlab.results.recordparts import Series
from nandlab.trial import execution
from nandlab.trial.steps import make_trial_job

MS = 1_000_000
USAGE = """\
bytes 900
reclaimable_bytes 300
peak_bytes 950
peak_kept_bytes 640
slab_bytes 900
kmalloc_bytes 0
vmalloc_bytes 0
objects 3
allocations 3
frees 0
lost 0
samples {samples}
samples_lost {lost}
"""
FUNCTIONS = "jffs2_alloc_inode 300 350 7 1\njffs2_do_mount_fs 600 600 1 0\n"
BEGUN = BOOTED_NS + 3 * MS
"""Of the series: some step of the trial's before the workload."""


def planned(asked: str) -> list[TrialSpec]:
    """Trials that all measure what is asked."""
    everywhere = 'memory_trials = "all"\n'
    return study.plan_trials(Study.model_validate(tomllib.loads(everywhere + asked + TEXT)))


def series_trial(*samples: tuple[int, int, int], lost: int = 0, **change: object) -> Trial:
    """A trial with these samples: ms since the series began, bytes, reclaimable bytes."""
    (spec, *_) = planned('measure = ["memory-series"]\nmemory_series = { interval_ms = 2 }\n')
    lines = "".join(f"{BEGUN + ms * MS} {held} {given}\n" for ms, held, given in samples)
    usage = USAGE.format(samples=len(samples) + lost, lost=lost)
    answers = {
        **dict.fromkeys(("memory-watch", "memory-begin", "memory-series"), FakeResult()),
        **dict.fromkeys(("memory-mounted", "memory-unmounted"), FakeResult(usage)),
        "memory-end": FakeResult(usage + FUNCTIONS + lines),
    }
    system = spec.filesystem.model_copy(update=change)
    spec = spec.model_copy(update={"filesystem": system})
    return asyncio.run(execution.run_trial(spec, fake(**answers), "study"))


def test_the_series_is_of_the_load_and_ends_with_its_last_interval() -> None:
    trial = series_trial((0, 500, 10), (2, 700, 100), (6, 900, 300), (400, 1, 1))
    assert trial.error is None
    held, given = trial.series
    assert (held.name, held.unit, given.name) == ("memory.bytes", "bytes", "memory.reclaimable")
    at = [(t - BEGUN) // MS for t in held.t_ns]
    assert at[:3] == [0, 2, 6]
    assert len(at) == 4 or at[-1] == 6  # at most one more, at the end of the load
    assert (at[-1] - at[0]) % 2 == 0
    assert held.values[:3] == [500, 700, 900]
    assert given.values[:3] == [10, 100, 300]
    assert 1 not in held.values  # it is of the time after the load
    assert given.t_ns == held.t_ns


def test_figures_are_by_function_and_what_can_be_taken_back_is_apart() -> None:
    told = series_trial((0, 500, 10)).measured["memory"]
    assert (told["reclaimable"], told["kept_peak"], told["end"]) == (300, 640, 900)
    assert told["of.jffs2_alloc_inode"] == 300
    assert told["peak_of.jffs2_alloc_inode"] == 350
    assert told["of.jffs2_alloc_inode"] + told["of.jffs2_do_mount_fs"] == told["end"]


def test_what_can_be_taken_back_is_absent_where_it_is_not_known() -> None:
    trial = series_trial((0, 500, 0), memory_reclaimable=None)
    assert [s.name for s in trial.series] == ["memory.bytes"]
    assert not {"reclaimable", "kept_peak"} & trial.measured["memory"].keys()
    nothing = series_trial((0, 500, 0), memory_reclaimable=[])
    assert len(nothing.series) == 2


def test_samples_that_were_lost_are_a_doubt() -> None:
    (doubt,) = [
        w for w in series_trial((4, 5, 1), lost=3).warnings if w.code == "memory_series_lost"
    ]
    assert "first 3 of 4 samples were overwritten" in doubt.text
    whole = series_trial((0, 500, 10))
    assert "memory_series_lost" not in [w.code for w in whole.warnings]


def test_a_series_without_a_sample_is_told() -> None:
    trial = series_trial()
    assert trial.status == "not_measured"
    assert trial.error == "step memory-end: printed no sample of the load"


def test_steps_with_the_series() -> None:
    asked = 'measure = ["memory-series"]\nmemory_series = { interval_ms = 7, samples = 99 }\n'
    jffs2, *_ = planned(asked)
    steps = {step.name: step for step in make_trial_job(jffs2).steps}
    names = list(steps)
    assert names[names.index("workload") - 1] == "memory-series"
    assert names[names.index("workload") + 1] == "memory-end"
    watch = steps["memory-watch"].command
    assert "interval_ms=7 samples=99 slots_log2=17 reclaimable=jffs2_alloc_inode," in watch
    assert all(steps[n].beside for n in names if n.startswith("memory-"))


def test_without_the_series_the_steps_of_memory_are_as_they_were() -> None:
    jffs2, *_ = planned('measure = ["memory"]\n')
    steps = {step.name: step.command for step in make_trial_job(jffs2).steps}
    assert steps["memory-watch"].endswith(" && modprobe fsram modules=jffs2")
    assert steps["memory-end"] == "cat /sys/kernel/debug/fsram/usage"
    assert "memory-series" not in steps


def test_ids_are_of_what_is_measured() -> None:
    asked = ["", 'measure = ["memory"]\n', 'measure = ["memory-series"]\n']
    asked.append(asked[2] + "memory_series = { interval_ms = 7 }\n")
    ids = [planned(text)[0].id for text in asked]
    assert len(set(ids)) == 4
    default = asked[2] + "memory_series = { interval_ms = 100 }\n"
    assert planned(default)[0].id == ids[2]
    assert planned(default)[0].memory_series == MemorySeries()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ('measure = ["memory", "memory-series"]', "memory-series has all that memory has"),
        ("memory_series = { interval_ms = 5 }", 'it is for measure = ["memory-series"]'),
        ('measure = ["memory-series"]\nmemory_series = { interval_ms = 0 }', "interval_ms"),
        ('measure = ["memory-series"]\nmemory_series = { samples = 1 }', "samples"),
        ('measure = ["memory-series"]\nmemory_series = { every = 1 }', "every"),
    ],
)
def test_what_makes_no_sense_is_refused(asked: str, said: str) -> None:
    with pytest.raises(UsageError, match="here") as refused:
        validate_data(tomllib.loads(f"{asked}\n{TEXT}"), Study, "here")
    assert said in str(refused.value)


def test_a_series_has_a_value_for_each_time() -> None:
    with pytest.raises(ValueError, match="1 times and 2 values"):
        Series(name="x", unit="bytes", t_ns=[1], values=[1, 2])
