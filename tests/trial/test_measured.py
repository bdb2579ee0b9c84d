# SPDX-License-Identifier: GPL-2.0-or-later
"""A workload may print anything: a trial has its result, with place and reason of what is wrong."""

from __future__ import annotations

import asyncio
import copy
import json
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.smallruns import MEASURED, OBTAINED, TEXT, fake

from nandlab.board.jobs.fake import FakeResult
from nandlab.plan import study
from nandlab.plan.study import Study
from nandlab.plan.trialspec import TrialSpec
from nandlab.results.record import Trial
from nandlab.results.recordparts import Latency
from nandlab.trial import execution

COUNTS = {"reads": 1, "programs": 2, "erases": 3}
PER_BLOCK = {"reads": [1, 2], "programs": [3, 4], "erases": [0, 1]}
LATENCY = {"count": 1, "min": 1, "median": 1, "p95": 1, "p99": 1, "p99_9": 1, "max": 1}
LOAD: dict[str, Any] = {
    **MEASURED,
    "phases": [{"name": "creation", "ns": 5, "chip": COUNTS, "chip_sync": COUNTS}],
    "erases_per_block": {"mean": 0.5, "stddev": 0.1, "min": 0, "max": 1},
    "per_block": PER_BLOCK,
    "latency_ns": {"create": LATENCY, "read": None},
    "state": {"obtained": OBTAINED},
}
LIFE: dict[str, Any] = {
    "figures": {"rounds": 1},
    "texts": {"gave_up": "disk full"},
    "open_ended": False,
    "series": [{"name": "erases", "unit": "count", "t_ns": [1, 2], "values": [4, 5]}],
    "per_block": PER_BLOCK,
}


OWN: dict[str, Any] = {
    "phases": [{"name": "bulk_load", "ns": 7, "chip": COUNTS}, {"name": "queries", "ns": 9}],
    "operations": {"insert": 4},
    "latency_ns": {"insert": LATENCY},
    "figures": {"queries_per_s": 3.5},
    "series": [{"name": "ram", "unit": "bytes", "t_ns": [1, 2], "values": [10, 20]}],
}
"""What a workload prints that is not FFSMark; all of it is by choice."""


def spec() -> TrialSpec:
    return study.plan_trials(Study.model_validate(tomllib.loads(TEXT)))[0]


SPEC = spec()


def told(printed: str, **more: FakeResult) -> Trial:
    """The result of a trial whose workload printed this; as it is after it was kept."""
    board = fake(**{"workload": FakeResult(printed), **more})
    result = asyncio.run(execution.run_trial(SPEC, board, "small"))
    kept = Trial.model_validate_json(result.model_dump_json()).add_sources(result.sources)
    assert kept == result
    return kept


def put(base: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    """A copy of base with the value at a dotted path; KeyError takes the member away."""
    changed = copy.deepcopy(base)
    at: Any = changed
    *way, last = path.split(".")
    for key in way:
        at = at[int(key) if isinstance(at, list) else key]
    if value is KeyError:
        del at[last]
    else:
        at[int(last) if isinstance(at, list) else last] = value
    return changed


def test_what_is_right_is_read() -> None:
    load, life = told(f"talk\n{json.dumps(LOAD)}\n"), told(json.dumps(LIFE))
    assert (load.status, life.status) == ("ok", "ok")
    creation = load.phase("creation")
    assert creation is not None and creation.chip is not None
    assert creation.chip.model_dump() == COUNTS
    assert load.latency_ns == {"create": Latency.model_validate(LATENCY), "read": None}
    assert load.erases_per_block is not None and load.per_block is not None
    assert load.state.obtained is not None and load.state.obtained.valid == 0.51
    assert [w.code for w in load.warnings] == ["state_missed", "workload"]
    assert life.texts == {"gave_up": "disk full"}
    assert {s.name: s.values for s in life.series} == {"erases": [4, 5]}
    assert (life.figures, life.open_ended) == ({"rounds": 1}, False)


def test_names_declared_and_never_told_are_a_doubt() -> None:
    renamed = put(LOAD, "phases.0.name", "creating")
    doubts = [w.text for w in told(json.dumps(renamed)).warnings if w.code == "workload"]
    assert any("phases: declared, not told: fill, creation" in text for text in doubts)
    assert any("told, not declared: creating" in text for text in doubts)


def test_words_of_a_workloads_own_are_kept_as_they_are() -> None:
    own = told(json.dumps(OWN))
    assert own.ok
    assert [p.name for p in own.phases] == ["bulk_load", "queries"]
    assert own.figures == {"queries_per_s": 3.5}
    assert own.series[0].values == [10, 20]
    (least,) = (told(json.dumps({"figures": {"x": 1}})),)
    assert least.ok


def test_a_chip_that_does_not_tell_of_its_blocks_is_null() -> None:
    blind = told(json.dumps(put(put(LOAD, "per_block", None), "erases_per_block", None)))
    assert blind.ok
    assert (blind.per_block, blind.erases_per_block) == (None, None)


@pytest.mark.parametrize(
    ("base", "path", "value", "said"),
    [
        (LOAD, "warnings", {"a": 1}, "warnings: must be a valid array"),
        (LOAD, "phases.0.ns", "5", "phases.0.ns: must be a valid integer"),
        (LOAD, "phases.0.ns", -1, "phases.0.ns: must be greater than or"),
        (LOAD, "phases.0.chip", [1], "phases.0.chip: must be an object"),
        (LOAD, "phases.0.chip.erases", None, "phases.0.chip.erases: must be given"),
        (LOAD, "erases_per_block.mean", float("nan"), "mean: must be a finite num"),
        (LOAD, "per_block.reads.1", 1e300, "per_block.reads.1: must be a valid int"),
        (LOAD, "latency_ns.create.p99", 10**40, "latency_ns.create.p99: must be less"),
        (LOAD, "state.obtained.valid", 10**400, "state.obtained.valid: "),
        (LOAD, "bytes.read", True, "bytes.read: must be a valid integer"),
        (OWN, "phases.0.name", KeyError, "phases.0.name: must be given"),
        (OWN, "phases.0.ns", 1.5, "phases.0.ns: must be a valid integer"),
        (OWN, "figures.queries_per_s", float("inf"), "figures.queries_per_s: must be"),
        (OWN, "series.0.values", [1], "series.0: 2 times and 1 values"),
        (LIFE, "series", 7, "series: must be a valid array"),
        (LIFE, "texts.gave_up", 7, "texts.gave_up: must be a valid string"),
    ],
)
def test_what_is_wrong_is_a_failed_trial_with_its_place(
    base: dict[str, Any], path: str, value: object, said: str
) -> None:
    result = told(json.dumps(put(base, path, value)))
    assert result.status == "not_measured"
    assert result.error is not None
    assert result.error.startswith("ffsmark printed no result ")
    assert said in result.error
    assert result.phases == [] and result.series == []


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        ("", "the last line is not JSON"),
        ("Segmentation fault\n", "the last line is not JSON"),
        (json.dumps(LOAD)[:100], "the last line is not JSON"),
        ("[" * 10_000, "the last line is not JSON"),
        ("[1]", "the last line is list, not an object of JSON"),
        (json.dumps(put(LIFE, "texts.gave_up", "\ud800")), "the last line is not JSON"),
        (json.dumps(put(LOAD, "bytes.read", 10**4000)).replace("0" * 4000, "0" * 5000), "not JSON"),
        ("{}", "it has no phases, figures, series or latencies"),
        ('{"phases": [{}]}', "phases.0.name: must be given"),
    ],
)
def test_what_is_no_result_at_all_is_told(printed: str, said: str) -> None:
    result = told(printed)
    assert result.status == "not_measured"
    assert result.error is not None and said in result.error


def test_many_mistakes_are_counted_and_not_listed() -> None:
    result = told(json.dumps(put(LOAD, "per_block.reads", ["x"] * 1009)))
    assert result.error is not None and result.error.endswith("; and 1006 more")


@pytest.mark.parametrize(("step", "printed"), [("settle", "busy"), ("settle", '{"settled": 1}')])
def test_a_step_of_ours_that_tells_nonsense_fails_the_trial(step: str, printed: str) -> None:
    result = told(json.dumps(LOAD), **{step: FakeResult(printed)})
    assert result.status == "not_measured"
    assert result.error is not None and result.error.startswith(f"step {step}: ")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def paths(value: object, above: str = "") -> list[str]:
    """The dotted path of every member."""
    pairs: list[tuple[object, object]] = []
    if isinstance(value, dict):
        pairs = list(value.items())
    elif isinstance(value, list):
        pairs = list(enumerate(value))
    found = []
    for key, inner in pairs:
        found += [f"{above}{key}", *paths(inner, f"{above}{key}.")]
    return found


@given(JSON)
def test_any_json_yields_a_result(value: object) -> None:
    assert told(json.dumps(value)).status == "not_measured"


@given(st.data())
def test_any_json_in_place_of_any_member_yields_a_result(data: st.DataObject) -> None:
    base = data.draw(st.sampled_from([LOAD, LIFE, OWN]))
    path = data.draw(st.sampled_from(paths(base)))
    changed = json.dumps(put(base, path, data.draw(JSON)), ensure_ascii=data.draw(st.booleans()))
    result = told(changed)
    assert result.status in ("ok", "not_measured")
    assert (result.error is None) == result.ok


@given(st.binary())
def test_any_bytes_yield_a_result(printed: bytes) -> None:
    assert told(printed.decode(errors="surrogateescape")).status == "not_measured"


def test_bytes_that_are_no_text_do_not_cost_the_result() -> None:
    printed = (
        json.dumps(put(LIFE, "texts.gave_up", "open XX: full")).encode().replace(b"XX", b"\xff")
    )
    life = told(printed.decode(errors="surrogateescape"))
    assert life.texts["gave_up"] == "open \ufffd: full"
