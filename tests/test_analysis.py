# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures against hand-made numbers, spreads by their laws, and words only where data allows."""

from __future__ import annotations

import pytest
import samples
from hypothesis import given
from hypothesis import strategies as st

from nandlab.analysis import answers, figures, groups, units
from nandlab.analysis.spread import Spread, quotient, spread
from nandlab.results import Counts, Trial

VALUES = st.lists(st.floats(min_value=0, max_value=1e15), min_size=1, max_size=12)
POSITIVE = st.lists(st.floats(min_value=1e-3, max_value=1e12), min_size=1, max_size=8)


def known(values: list[float]) -> Spread:
    found = spread(values)
    assert found is not None
    return found


@given(VALUES)
def test_a_spread_is_ordered_and_counts_what_is_there(values: list[float]) -> None:
    found = known([*values])
    assert found.n == len(values)
    assert min(values) == found.min <= found.median <= found.max == max(values)
    assert (found.mean is None) == (len(values) < 5)
    assert spread([None, *values, None]) == found


def test_a_spread_of_nothing_is_none() -> None:
    assert spread([]) is None
    assert spread([None, None]) is None


@given(VALUES, VALUES)
def test_overlap_and_telling_apart_are_symmetric_and_exclude_each_other(
    a: list[float], b: list[float]
) -> None:
    x, y = known(a), known(b)
    assert x.overlaps(y) == y.overlaps(x)
    assert x.told_apart(y) == y.told_apart(x)
    assert not (x.overlaps(y) and x.told_apart(y))
    assert x.overlaps(x)


def test_ranges_that_touch_in_one_point_overlap() -> None:
    assert known([1, 2]).overlaps(known([2, 3]))
    assert known([1, 2]).told_apart(known([2.001, 3]))


@given(POSITIVE, POSITIVE)
def test_every_pair_lies_within_the_range_of_a_quotient(a: list[float], b: list[float]) -> None:
    found = quotient(known(a), known(b))
    assert found is not None
    assert all(found.min <= x / y <= found.max for x in a for y in b)


def test_no_quotient_over_zero_or_nothing() -> None:
    assert quotient(known([1, 2]), known([0, 1])) is None
    assert quotient(None, known([1])) is None


def test_derived_figures_of_one_trial() -> None:
    trial = samples.trial(
        phase_ns={"creation": 3_000_000_000, "transactions": 4_000_000_000, "deletion": None},
        sync_ns={"creation": 0, "transactions": 1_000_000_000, "deletion": None},
        parameters={"transactions": 15000},
        ops={"read": {"total": 5}, "create": {"total": 37, "creation": 30, "transactions": 7}},
        bytes={"read": 16_000, "written": 4096_000},
        flash={
            "fill": Counts(reads=9, programs=9_000_000, erases=9),
            "creation": Counts(reads=1, programs=1000, erases=2),
            "transactions": Counts(reads=3, programs=3000, erases=5),
            "deletion": None,
        },
    )
    assert figures.total_ns(trial, "transactions") == 5_000_000_000
    assert figures.total_ns(trial, "deletion") is None
    assert figures.transactions_per_s(trial) == 3000
    assert figures.operations(trial, "transactions") == 12
    assert figures.operations_per_s(trial, "creation") == 10
    assert figures.bytes_per_s(trial, "read") == 2000
    assert figures.chip_total(trial, "erases") == 7
    assert figures.write_amplification(trial) == 4000 * 2048 / 4096_000


def test_what_was_not_measured_is_none_and_never_zero() -> None:
    bare = samples.failed()
    found = [
        figures.total_ns(bare, "creation"),
        figures.transactions_per_s(bare),
        figures.bytes_per_s(bare, "read"),
        figures.chip_total(bare, "erases"),
        figures.write_amplification(bare),
        figures.wear_spread(bare),
        figures.latency_ns(bare, "read", "p99"),
        figures.operations(bare, "creation"),
    ]
    assert found == [None] * len(found)


def test_transactions_without_a_parameter_are_the_reads_and_appends() -> None:
    trial = samples.trial(parameters={}, phase_ns={"transactions": 10**9}, sync_ns=None)
    assert figures.transactions_per_s(trial) == 15000


def test_trials_are_grouped_by_all_but_seed_and_phase_offset() -> None:
    (setting,) = groups.group(samples.study(seeds=3))
    assert [e.label for e in setting.ensembles] == [
        f"{fs}, {state}" for fs in ("JFFS2", "UBIFS", "YAFFS2") for state in ("fresh", "aged")
    ]
    assert [len(e.ok) for e in setting.ensembles] == [3] * 6
    assert [len(e.trials) for e in setting.ensembles] == [3, 3, 3, 4, 3, 4]
    for e in setting.ensembles:
        assert len({t.configuration() for t in e.trials}) == 1


def test_only_options_that_vary_name_a_subject() -> None:
    trials = [
        samples.trial("ubifs", options={"sync": "no", "compr": "none"}),
        samples.trial("ubifs", options={"sync": "no", "compr": "lzo"}),
        samples.trial("jffs2", options={"compr": "zlib"}),
    ]
    (setting,) = groups.group(trials)
    assert setting.subjects == ("UBIFS compr=none", "UBIFS compr=lzo", "JFFS2")


def test_other_parameters_or_another_chip_make_another_setting() -> None:
    small = samples.CHIP.model_copy(update={"part": "nandsim-small"})
    trials = [
        samples.trial(),
        samples.trial(parameters={"files": 10, "transactions": 5}),
        samples.trial(chip=small),
    ]
    settings = groups.group(trials)
    assert [s.slug for s in settings] == ["ffsmark", "ffsmark-2", "ffsmark-3"]
    assert len({s.title for s in settings}) == 3
    assert "files=10" in settings[1].title


def timed(filesystem: str, seconds: list[float]) -> list[Trial]:
    """Trials whose transactions take so long, and nothing else of note."""
    return [
        samples.trial(filesystem, seed=i, phase_ns={"transactions": int(s * 1e9)}, sync_ns=None)
        for i, s in enumerate(seconds)
    ]


def time_finding(trials: list[Trial]) -> answers.Finding:
    (setting,) = groups.group(trials)
    return answers.answers(setting)[0].findings[0]


def test_ranges_apart_give_an_order_with_factors() -> None:
    found = time_finding([*timed("jffs2", [4, 4.2]), *timed("ubifs", [2, 2.1])])
    assert found.firm
    assert found.text == (
        "UBIFS finishes the transactions first: 2.05 s. "
        "Next by median, JFFS2, takes 2 times as long."
    )


def test_ranges_that_overlap_give_no_order() -> None:
    found = time_finding([*timed("jffs2", [2, 4]), *timed("ubifs", [1, 3])])
    assert not found.firm
    assert "UBIFS and JFFS2 cannot be told apart" in found.text
    assert "first" not in found.text


def test_single_trials_give_no_order() -> None:
    found = time_finding([*timed("jffs2", [4]), *timed("ubifs", [1])])
    assert not found.firm
    assert "too few to state an order (UBIFS 1 s, JFFS2 4 s)" in found.text


def test_single_trials_are_a_caveat() -> None:
    trials = [*timed("jffs2", [4]), *timed("ubifs", [1, 2])]
    (line,) = answers.caveats(samples.head(trials), trials, [])
    assert line.startswith("1 configuration has a single trial")


def test_one_single_trial_is_not_ranked_against_an_ensemble() -> None:
    found = time_finding([*timed("jffs2", [4]), *timed("ubifs", [1, 1.1])])
    assert not found.firm
    assert "JFFS2 has a single trial" in found.text


def test_the_one_measured_has_nothing_to_be_set_against() -> None:
    found = time_finding(timed("ubifs", [1, 1.1]))
    assert not found.firm
    assert found.text.startswith("Only UBIFS was measured")


def test_nothing_measured_is_said() -> None:
    found = time_finding([samples.failed()])
    assert found.text == "No transaction time was measured."


@given(st.lists(POSITIVE, min_size=2, max_size=4))
def test_an_order_is_stated_only_if_no_range_touches_the_first(times: list[list[float]]) -> None:
    trials = [t for i, ts in enumerate(times) for t in timed(f"fs{i}", [min(x, 1e6) for x in ts])]
    found = time_finding(trials)
    (setting,) = groups.group(trials)
    spreads = [e.spread(lambda t: figures.total_ns(t, "transactions")) for e in setting.ensembles]
    order = sorted((s for s in spreads if s), key=lambda s: s.median)
    assert found.firm == all(order[0].told_apart(s) for s in order[1:])


def test_ageing_names_who_suffers_most_with_its_range() -> None:
    (setting,) = groups.group(samples.study())
    fresh, aged = answers.answers(setting)
    assert [f.topic for f in fresh.findings] == ["Time", "Wear", "Evenness", "Tail latency"]
    ageing = [f for f in aged.findings if f.topic == "Ageing, time"]
    assert ageing[0].firm
    assert ageing[0].text.startswith("YAFFS2 suffers most: its transactions take 14.")


def test_absent_trials_come_first_among_the_caveats() -> None:
    trials = samples.study()
    run = samples.head(trials, deterministic=False)
    lines = answers.caveats(run, trials, ["x", "y"])
    assert lines[0].startswith(f"4 of {len(trials)} trials are not in the figures: ")
    assert "1 failed, 1 lost the board, 2 have not been run" in lines[0]
    assert "not deterministic" in lines[1]
    assert any("state_missed" in line for line in lines)


def test_a_clean_run_has_no_caveats() -> None:
    trials = [samples.trial(seed=s) for s in range(3)]
    assert answers.caveats(samples.head(trials), trials, []) == []


@pytest.mark.parametrize(
    ("ns", "text"),
    [(0, "0 ns"), (999, "999 ns"), (1234, "1.23 µs"), (45_600_000, "45.6 ms"), (3.69e11, "369 s")],
)
def test_times_are_written_in_three_figures(ns: float, text: str) -> None:
    assert units.time(ns) == text


@given(st.floats(min_value=1e-6, max_value=1e6))
def test_a_ratio_that_is_not_one_is_not_written_as_one(value: float) -> None:
    if abs(value - 1) > 1e-8:
        assert float(units.ratio(value).replace(",", "")) != 1


def test_missing_is_a_dash() -> None:
    assert units.time(None) == units.count(None) == units.rate(None) == units.MISSING
