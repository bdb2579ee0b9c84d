# SPDX-License-Identifier: GPL-2.0-or-later
"""Two runs are compared to the nanosecond, in every field but what belongs to the host."""

from __future__ import annotations

from pathlib import Path

import samples
from hypothesis import given
from hypothesis import strategies as st

from nandlab.analysis.compare import ABSENT, Difference, compare, differences, gave
from nandlab.analysis.expected import trial_digest
from nandlab.results.published import figures_of
from nandlab.results.record import Host, Trial, Usage

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(JSON)
def test_a_value_does_not_differ_from_itself(value: object) -> None:
    assert list(differences(value, value, "x")) == []


@given(JSON, JSON)
def test_differences_are_symmetric(a: object, b: object) -> None:
    there = {(d.path, repr(d.a), repr(d.b)) for d in differences(a, b, "x")}
    back = {(d.path, repr(d.b), repr(d.a)) for d in differences(b, a, "x")}
    assert there == back


@given(st.dictionaries(st.text(max_size=3).filter(lambda k: k != "host"), JSON, min_size=1))
def test_a_lost_key_is_absent_and_not_null(value: dict[str, object]) -> None:
    key = next(iter(value))
    less = {k: v for k, v in value.items() if k != key}
    assert Difference(f"x.{key}", value[key], ABSENT) in list(differences(value, less, "x"))


def test_a_run_does_not_differ_from_a_repetition_on_another_host(tmp_path: Path) -> None:
    trials = samples.study(seeds=2)
    elsewhere = [t.model_copy(update={"host": Host(seconds=99, board="other")}) for t in trials]
    a, b = samples.folder(tmp_path / "a", trials), samples.folder(tmp_path / "b", elsewhere)
    assert compare(a, b) == []
    assert compare(a, a) == []


def test_counts_that_older_results_lack_are_no_difference(tmp_path: Path) -> None:
    trials = [samples.trial(seed=s) for s in (1, 2)]
    counted = [
        t.model_copy(update={"steps": [s.model_copy(update={"register_hits": 7}) for s in t.steps]})
        for t in trials
    ]
    a, b = samples.folder(tmp_path / "a", trials), samples.folder(tmp_path / "b", counted)
    assert compare(a, b) == []
    assert [trial_digest(t) for t in trials] == [trial_digest(t) for t in counted]
    assert [figures_of(t) for t in trials] == [figures_of(t) for t in counted]


def nudged(trial: Trial) -> Trial:
    slower = [
        p.model_copy(update={"ns": (p.ns or 0) + (p.name == "transactions")}) for p in trial.phases
    ]
    return trial.model_copy(update={"phases": slower})


def test_one_nanosecond_is_found_with_its_path_and_both_values(tmp_path: Path) -> None:
    trials = [samples.trial(seed=s) for s in (1, 2)]
    changed = [trials[0], nudged(trials[1])]
    a, b = samples.folder(tmp_path / "a", trials), samples.folder(tmp_path / "b", changed)
    (found,) = compare(a, b)
    assert found.path == f"trials.{trials[1].id}.phases.transactions.ns"
    assert isinstance(found.a, int)
    assert found.b == found.a + 1
    assert str(found) == f"{found.path}: {found.a} / {found.b}"


def test_one_block_is_found_by_its_index(tmp_path: Path) -> None:
    trial = samples.trial()
    assert trial.per_block is not None
    erases = [*trial.per_block.erases]
    erases[7] += 1
    per_block = trial.per_block.model_copy(update={"erases": erases})
    other = trial.model_copy(update={"per_block": per_block})
    a, b = samples.folder(tmp_path / "a", [trial]), samples.folder(tmp_path / "b", [other])
    assert [d.path for d in compare(a, b)] == [f"trials.{trial.id}.per_block.erases.7"]


def test_a_trial_that_one_run_lacks_is_one_difference(tmp_path: Path) -> None:
    one, two = samples.trial(seed=1), samples.trial(seed=2)
    a = samples.folder(tmp_path / "a", [one, two])
    b = samples.folder(tmp_path / "b", [one], [two.id])
    assert compare(a, b) == [Difference(f"trials.{two.id}", "ok", ABSENT)]
    assert compare(b, a) == [Difference(f"trials.{two.id}", ABSENT, "ok")]


def test_the_commit_that_began_a_run_is_not_compared(tmp_path: Path) -> None:
    trials = [samples.trial()]
    a = samples.folder(tmp_path / "a", trials, commit="0123456789ab")
    b = samples.folder(tmp_path / "b", trials, commit=None, question="Another?")
    assert [d.path for d in compare(a, b)] == ["run.question"]


def test_heads_are_compared_too(tmp_path: Path) -> None:
    trials = [samples.trial()]
    a = samples.folder(tmp_path / "a", trials, provenance={"kernel": "6.1", "host": "x"})
    b = samples.folder(tmp_path / "b", trials, provenance={"kernel": "6.12", "host": "y"})
    assert compare(a, b) == [Difference("run.provenance.kernel", "6.1", "6.12")]


def test_what_a_phase_does_not_tell_is_no_part_of_what_was_given() -> None:
    trial = samples.trial()
    assert all({"usage", "at"}.isdisjoint(p) for p in gave(trial)["phases"].values())
    telling = [p.model_copy(update={"usage": Usage(idle_ns=3)}) for p in trial.phases]
    told = gave(trial.model_copy(update={"phases": telling}))["phases"]
    assert all(p["usage"]["idle_ns"] == 3 for p in told.values())
