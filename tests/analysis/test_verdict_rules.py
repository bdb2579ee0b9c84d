# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules that every verdict obeys, whatever its figures: scale, copies, fewer members, doubts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from support import samples
from test_verdict import calls, judged, trial

from nandlab.results.record import Trial
from nandlab.results.recordparts import (
    Doubt,
)

SECONDS = st.floats(min_value=0.5, max_value=500, allow_nan=False)


RUNS = st.dictionaries(
    st.sampled_from(["jffs2", "ubifs", "yaffs2"]),
    st.lists(SECONDS, min_size=1, max_size=4),
    min_size=1,
)


def trials(run: dict[str, list[float]], factor: float = 1) -> list[Trial]:
    return [
        trial(name, seconds * factor, seed)
        for name, all_seconds in run.items()
        for seed, seconds in enumerate(all_seconds, 1)
    ]


@given(run=RUNS)
def test_doubling_every_time_changes_no_order(run: dict[str, list[float]]) -> None:
    once, twice = judged(trials(run)), judged(trials(run, 2))
    assert list(calls(once).items()) == list(calls(twice).items())


@given(run=RUNS)
def test_a_copy_under_another_name_ties_with_it(run: dict[str, list[float]]) -> None:
    name = next(iter(run))
    copy = {"provenance": {"filesystem": {"title": "Copy", "power": samples.POWER}}}
    copies = [trial("copy", s, i, **copy) for i, s in enumerate(run[name], 1)]
    found = judged([*trials(run), *copies])
    one, other = found.row(samples.TITLES[name]), found.row("Copy")
    assert one.cells[0] == other.cells[0]
    assert {one.call, other.call} <= {"take", "next"} or one.call == other.call
    if one.call == "take":
        assert "Copy" in one.as_good


@given(run=RUNS, data=st.data())
def test_dropping_members_never_makes_it_surer(
    run: dict[str, list[float]], data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(sorted(run)))
    fewer = {**run, name: run[name][: data.draw(st.integers(1, len(run[name])))]}
    before, after = calls(judged(trials(run))), calls(judged(trials(fewer)))
    sure = {"take": 0, "next": 0, "open": 1, "avoid": 2}
    title = samples.TITLES[name]
    assert sure[after[title]] >= sure[before[title]]


@given(run=RUNS, data=st.data())
def test_a_doubt_added_never_leaves_who_came_first_as_it_was(
    run: dict[str, list[float]], data: st.DataObject
) -> None:
    all_trials = trials(run)
    before = judged(all_trials)
    first = before.rows[0].name
    doubt = Doubt(code="kernel_log", text="a line")
    doubted = [
        t.model_copy(update={"warnings": [doubt]}) if t.filesystem_title == first else t
        for t in all_trials
    ]
    after = judged(doubted)
    assert after.row(first).call == "open"
    assert after.gaps != before.gaps
