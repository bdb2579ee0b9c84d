# SPDX-License-Identifier: GPL-2.0-or-later
"""What a product meets in all its values, as it meets each flash state, is judged together."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from support import samples
from test_verdict import calls, pair

from nandlab.analysis.figures.groups import group_trials_into_settings
from nandlab.analysis.verdicts import answers, sweep, verdictmaker
from nandlab.analysis.verdicts.limits import Limits
from nandlab.analysis.verdicts.verdict import Verdict
from nandlab.results.record import Trial
from nandlab.results.recordparts import FlashState


def run(
    filesystem: str,
    seconds: float,
    before: str,
    state: FlashState = samples.FRESH,
    *,
    circumstance: bool = True,
) -> list[Trial]:
    """Two trials of a workload whose parameter ``before`` is a circumstance, or is not."""
    workload = {"parameters": {"before": {"default": "work", "circumstance": circumstance}}}
    provenance = {"chip": {"endurance": {"pe_cycles": 100_000}}, "workload": workload}
    return pair(filesystem, seconds, state, parameters={"before": before}, provenance=provenance)


def judge_trials(trials: Sequence[Trial]) -> list[Verdict]:
    return verdictmaker.make_run_verdicts_from_trials({}, trials, samples.NAMING, Limits())


LATE = [
    *run("jffs2", 10, "nothing"),
    *run("jffs2", 100, "work"),
    *run("ubifs", 20, "nothing"),
    *run("ubifs", 20, "work"),
]
"""JFFS2 is the first to be done where nothing comes before, and the last where work does."""


def test_the_worst_of_all_its_values_decides() -> None:
    (found,) = judge_trials(LATE)
    assert calls(found) == {"UBIFS": "take", "JFFS2": "next"}
    assert found.states == ("before=nothing", "before=work")
    assert found.row("UBIFS").state_leaders == (("before=nothing", "JFFS2"),)
    worst = found.row("JFFS2").cells[0]
    assert (worst.text, worst.where) == ("100 s", "before=work")


def test_another_parameter_has_a_verdict_for_each_value() -> None:
    other = [
        *run("jffs2", 10, "nothing", circumstance=False),
        *run("jffs2", 100, "work", circumstance=False),
        *run("ubifs", 20, "nothing", circumstance=False),
        *run("ubifs", 20, "work", circumstance=False),
    ]
    assert [v.recommended for v in judge_trials(other)] == ["JFFS2", "UBIFS"]


def test_who_was_not_run_in_each_is_open() -> None:
    (found,) = judge_trials(LATE[:-2])
    assert calls(found) == {"JFFS2": "take", "UBIFS": "open"}
    (gap,) = [g for g in found.gaps if g.what == "not run"]
    assert gap.why == "no trial with before=work"


@pytest.mark.parametrize("parameters", [None, [], "before", {"before": "work"}, {"before": None}])
def test_a_run_with_other_words_of_its_parameters_has_no_circumstance(parameters: object) -> None:
    """Such a run comes from elsewhere: it is judged by each value, and nothing breaks."""
    trials = [
        t.add_sources({"workload": {"parameters": parameters}})
        for before in ("nothing", "work")
        for t in run("jffs2", 10, before)
    ]
    assert [s.states for s in group_trials_into_settings(trials)] == [("fresh",), ("fresh",)]


def test_a_single_value_is_no_state() -> None:
    (found,) = judge_trials([*run("jffs2", 10, "work"), *run("ubifs", 20, "work")])
    assert found.states == ("fresh",)


def test_ageing_is_from_fresh_flash_in_the_same_circumstance() -> None:
    aged = [
        *run("jffs2", 30, "nothing", samples.AGED),
        *run("jffs2", 110, "work", samples.AGED),
    ]
    (setting,) = group_trials_into_settings([*LATE[:4], *aged])
    assert setting.states == (
        "fresh, before=nothing",
        "fresh, before=work",
        "aged, before=nothing",
        "aged, before=work",
    )
    ratios = [
        answers.compute_ageing_ratio(setting, "JFFS2", state, setting.headline)
        for state in ("aged, before=nothing", "aged, before=work")
    ]
    assert [round(r.median, 2) for r in ratios if r] == [3.0, 1.1]


def test_a_cliff_is_of_a_line_in_one_circumstance() -> None:
    """Where work comes before, half of the flash valid is 1.1 times fresh, and no cliff."""
    aged = [
        *run("jffs2", 30, "nothing", samples.AGED),
        *run("jffs2", 110, "work", samples.AGED),
    ]
    (setting,) = group_trials_into_settings([*LATE[:4], *aged])
    cliffs = {
        (c.line.invalid_share, c.line.circumstance): c.valid_share
        for c in sweep.list_sweep_cliffs(setting)
    }
    assert cliffs[0.25, "before=nothing"] == 0.5
    assert cliffs[0.25, "before=work"] is None
