# SPDX-License-Identifier: GPL-2.0-or-later
"""Numbers of a paper's parts over many phases, on made-up sweeps with read-ahead off and on."""

from __future__ import annotations

from typing import Any

import pytest
from support import samples

from nandlab.analysis.claims import claimparts, claimrules, claims
from nandlab.analysis.figures import workloadwords
from nandlab.analysis.figures.figures import find_workload_figure
from nandlab.analysis.figures.spread import Spread
from nandlab.base.errors import UsageError
from nandlab.catalog.paper import Claim, ClaimPart, PaperModel, Selector
from nandlab.results.record import Trial
from nandlab.results.recordparts import Phase, StartImage

OFF = Selector(filesystem="jffs2", state="fresh", options={"read_ahead": "0"})
ON = Selector(filesystem="jffs2", state="fresh", options={"read_ahead": "128"})
SWEEP = {"seq_8": (30, 100), "seq_64": (60, 100), "random_8": (99, 100)}
"""By phase: ns with read-ahead off and on."""


def swept(read_ahead: str, at: int, seed: int = 1, **change: int) -> Trial:
    """A trial whose phases take SWEEP's times of this side; change: other times, by phase."""
    times = {name: pair[at] for name, pair in SWEEP.items()} | change
    made = samples.trial("jffs2", samples.FRESH, seed, options={"read_ahead": read_ahead})
    return made.model_copy(update={"phases": [Phase(name=n, ns=t) for n, t in times.items()]})


def part(**change: Any) -> ClaimPart:
    given = {"label": "off / on", "figure": "phase.{}", "each": "seq_*", "of": OFF, "over": ON}
    return ClaimPart.model_validate({**given, "direction": "below 1", **change})


def measured(of: ClaimPart, trials: list[Trial]) -> list[tuple[str, Spread | None]]:
    told = Claim(id="c", text="t", said="s", where="w", parts=[of])
    paper = PaperModel.model_validate(
        {"name": "p", "summary": "s", "citation": "c", "platform": "f", "workload": "w"}
        | {"part": samples.CHIP.part, "claims": [told]}
    )
    return [
        (p.label, s)
        for p, s in claimparts.compute_claim_part_numbers(
            paper, of, trials, workloadwords.make_workload_words_for_trials(trials)
        )
    ]


BOTH = [swept("0", 0), swept("128", 1)]


def test_each_phase_that_a_pattern_names_gives_a_number() -> None:
    found = measured(part(), BOTH)
    assert [label for label, _ in found] == ["off / on, seq 8", "off / on, seq 64"]
    assert [s.median for _, s in found if s] == [0.3, 0.6]


@pytest.mark.parametrize(("taken", "value"), [("mean", 0.55), ("most", 0.7), ("least", 0.4)])
def test_a_saving_is_combined_over_phases_and_is_one_less_the_quotient(
    taken: str, value: float
) -> None:
    ((_, found),) = measured(part(taken=taken, saving=True), BOTH)
    assert found is not None
    assert found.median == pytest.approx(value)


def test_members_are_combined_one_by_one() -> None:
    trials = [*BOTH, swept("0", 0, 2, seq_8=50), swept("128", 1, 2)]
    ((_, found),) = measured(part(taken="mean", saving=True), trials)
    assert found is not None
    assert found.n == 2
    assert [found.min, found.max] == pytest.approx([0.45, 0.55])


def test_a_quotient_is_divided_by_another_of_the_same_members() -> None:
    against = {"figure": "phase.seq_64"}
    one = part(figure="phase.seq_8", each="", against=against)
    ((_, found),) = measured(one, BOTH)
    assert found is not None
    assert found.median == pytest.approx(0.3 / 0.6)


def test_a_factor_makes_an_energy_of_a_time() -> None:
    one = part(figure="phase.seq_8", each="", factor=1.01, saving=True)
    ((_, found),) = measured(one, BOTH)
    assert found is not None
    assert found.median == pytest.approx(1 - 0.303)


def test_a_pattern_without_phases_is_not_measured() -> None:
    assert measured(part(each="backward_*"), BOTH) == [("off / on", None)]


def spread_of(*values: float) -> Spread:
    ordered = sorted(values)
    return Spread(len(values), ordered[0], ordered[len(ordered) // 2], ordered[-1])


@pytest.mark.parametrize(
    ("given", "values", "verdict"),
    [
        ({"direction": "not above 1"}, [1.0, 1.0], "reproduced"),
        ({"direction": "not above 1"}, [1.01, 1.02], "different"),
        ({"direction": "not above 1"}, [0.99, 1.02], "not decided"),
        ({"saving": True, "paper": 0.7}, [0.65, 0.66], "reproduced"),
        ({"saving": True, "paper": 0.7}, [0.35, 0.36], "same direction"),
        ({"saving": True, "paper": 0.7}, [-0.1, -0.2], "different"),
        ({"saving": True, "paper": 0.2}, [0.003, 0.009], "different"),
        ({"saving": True, "paper": 0.2}, [0.003, 0.05], "not decided"),
        ({"saving": True, "paper": 0.5, "bound": "over"}, [0.6, 0.7], "reproduced"),
        ({"saving": True, "paper": 0.5, "bound": "over"}, [0.4, 0.45], "same direction"),
        ({"direction": "none", "paper": 1.0, "within": 1.02}, [1.0, 1.01], "reproduced"),
        ({"direction": "none", "paper": 1.0, "within": 1.02}, [0.06, 0.07], "different"),
    ],
)
def test_verdicts_of_savings_and_of_what_shall_not_change(
    given: dict[str, Any], values: list[float], verdict: str
) -> None:
    assert claimrules.judge_claim_parts([(part(**given), spread_of(*values))]) == verdict


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"figure": "phase.seq_8"}, "go together"),
        ({"within": 0.5}, "1 or more"),
        ({"over": None, "direction": "none", "paper": 1, "saving": True}, "name over"),
    ],
)
def test_a_part_that_makes_no_sense_is_refused(given: dict[str, Any], wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        part(**given)


def test_a_basis_may_be_other_phases_of_the_same_trials() -> None:
    """The whole part moves: its figure, its pattern and what it is divided by."""
    one = part(figure="phase.seq_8", each="", against={"figure": "phase.seq_64"})
    told = Claim(id="c", text="t", said="s", where="w", parts=[one], rests_on=["way"])
    basis = {"id": "way", "read_as": "So.", "other": "x", "phases": {"seq_": "random_"}}
    paper = PaperModel.model_validate(
        {"name": "p", "summary": "s", "citation": "c", "platform": "f", "workload": "ffsmark"}
        | {"part": samples.CHIP.part, "claims": [told], "bases": [basis]}
    )
    trials = [swept("0", 0, random_64=33), swept("128", 1, random_64=100)]
    (row,) = claims.list_paper_claim_results(
        paper, trials, lambda _: workloadwords.make_workload_words_for_trials(trials)
    )
    assert row.numbers[0].ours is not None
    assert row.numbers[0].ours.median == pytest.approx(0.5)
    (other,) = row.other_readings
    assert other.numbers[0].ours is not None
    assert other.numbers[0].ours.median == pytest.approx(0.99 / 0.33)


def test_a_phase_has_a_rate_of_the_bytes_that_it_moved() -> None:
    made = swept("0", 0)
    phase = made.phases[0].model_copy(update={"bytes": {"read": 60}, "ns": 30})
    trial = made.model_copy(update={"phases": [phase]})
    figure = find_workload_figure(
        "phase.seq_8.read_per_s", workloadwords.make_workload_words_for_trials([trial])
    )
    assert (figure(trial), figure.better) == (2e9, "more")
    assert (
        find_workload_figure(
            "phase.seq_8.written_per_s", workloadwords.make_workload_words_for_trials([trial])
        )(trial)
        is None
    )


def test_a_paper_s_selectors_are_named_and_a_wrong_name_is_told() -> None:
    given: dict[str, Any] = {
        "name": "p", "summary": "s", "citation": "c", "platform": "f", "workload": "w",
        "part": "x", "selectors": {"off": OFF.model_dump(), "on": ON.model_dump()},
    }  # fmt: skip
    one = {"label": "l", "figure": "time", "of": "off", "over": "on", "direction": "below 1"}
    claim = {"id": "c", "text": "t", "said": "s", "where": "w"}
    paper = PaperModel.model_validate({**given, "claims": [{**claim, "parts": [one]}]})
    (found,) = paper.claims[0].parts
    assert (found.of, found.over) == (OFF, ON)
    with pytest.raises(ValueError, match=r"over = 'onn': .*there are: off, on"):
        PaperModel.model_validate(
            {**given, "claims": [{**claim, "parts": [{**one, "over": "onn"}]}]}
        )


def test_what_a_quotient_is_divided_by_may_be_of_the_same_point_too() -> None:
    one = part(
        figure="phase.random_{rest}", each="random_*", against={"figure": "phase.seq_{rest}"}
    )
    ((_, found),) = measured(one, BOTH)
    assert found is not None
    assert found.median == pytest.approx(0.99 / 0.3)


def test_figures_are_summed_and_a_pattern_s_end_names_other_phases() -> None:
    one = part(figure="phase.random_{rest}+phase.seq_{rest}", each="seq_*")
    ((label, found), *_) = measured(one, BOTH)
    assert found is not None
    assert label == "off / on, seq 8"
    assert found.median == pytest.approx((99 + 30) / 200)
    of = workloadwords.make_workload_words_for_trials(BOTH)
    assert find_workload_figure("phase.seq_8+phase.nowhere", of)(BOTH[0]) is None
    with pytest.raises(UsageError, match="several quantities"):
        find_workload_figure("phase.seq_8+chip.erases", of)


def test_a_selector_names_an_image_or_none_or_any() -> None:
    erased = swept("0", 0)
    image = StartImage.model_construct(name="root")
    flashed = erased.model_copy(update={"image": image})
    wanted = {"": [True, True], "none": [True, False], "root": [False, True]}
    paper = PaperModel.model_construct(parameters={}, part=samples.CHIP.part)
    for name, taken in wanted.items():
        of = OFF.model_copy(update={"image": name})
        assert [claimparts.is_trial_in_selector(paper, of, t) for t in (erased, flashed)] == taken
