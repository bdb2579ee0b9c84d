# SPDX-License-Identifier: GPL-2.0-or-later
"""RAM over time of an ensemble: a step function, laid over each other at the load's beginning."""

from __future__ import annotations

from support import samples

from nandlab.analysis.curves import memoryseries
from nandlab.results.record import Trial
from nandlab.results.recordparts import Series


def told(begin: int, *samples_: tuple[int, int, int | None], **memory: int) -> Trial:
    """A trial with samples: time since the begin, bytes, reclaimable bytes."""
    t_ns = [begin + t for t, _, _ in samples_]
    columns = {"memory.bytes": [b for _, b, _ in samples_]}
    given = [g for *_, g in samples_ if g is not None]
    if given:
        columns["memory.reclaimable"] = given
    series = [
        Series(name=name, unit="bytes", t_ns=t_ns, values=list(values))
        for name, values in columns.items()
    ]
    return samples.trial().model_copy(update={"series": series, "measured": {"memory": memory}})


def test_between_two_samples_the_earlier_one_holds() -> None:
    line = memoryseries.make_filesystem_memory_series(told(1000, (0, 5, 1), (10, 7, 1), (20, 6, 1)))
    assert line is not None
    assert [line.find_value(t) for t in (0, 9.9, 10, 19, 20, 99)] == [5, 5, 7, 7, 6, 6]


def test_members_are_laid_over_each_other_until_the_first_ends() -> None:
    trials = [
        told(1000, (0, 10, 1), (100, 20, 1), (200, 20, 1)),
        told(5000, (0, 14, 1), (50, 30, 1), (300, 90, 1)),
        told(7000, (0, 12, 1), (200, 12, 1)),
    ]
    curve = memoryseries.make_memory_curve_of_trials(
        trials, memoryseries.make_filesystem_memory_series
    )
    assert len(curve) == memoryseries.MOMENTS_MAX
    assert (curve[0].t_ns, curve[-1].t_ns) == (0, 200)
    first, last = curve[0].spread, curve[-1].spread
    assert (first.min, first.median, first.max) == (10, 12, 14)
    assert (last.min, last.median, last.max) == (12, 20, 30)


def test_what_is_kept_is_the_rest_and_absent_where_that_is_not_known() -> None:
    known, unknown = told(0, (0, 10, 1), (9, 20, 15)), told(0, (0, 10, None))
    line = memoryseries.make_unreclaimable_filesystem_memory_series(known)
    assert line is not None
    assert list(line.values) == [9, 5]
    assert memoryseries.make_unreclaimable_filesystem_memory_series(unknown) is None
    assert (
        memoryseries.make_memory_curve_of_trials(
            [unknown], memoryseries.make_unreclaimable_filesystem_memory_series
        )
        == []
    )
    assert (
        len(
            memoryseries.make_memory_curve_of_trials(
                [known, unknown], memoryseries.make_unreclaimable_filesystem_memory_series
            )
        )
        == memoryseries.MOMENTS_MAX
    )


def test_a_single_sample_is_a_single_moment() -> None:
    (moment,) = memoryseries.make_memory_curve_of_trials(
        [told(3, (0, 8, 2))], memoryseries.make_filesystem_memory_series
    )
    assert (moment.t_ns, moment.spread.median) == (0, 8)


def test_without_a_series_there_is_no_curve() -> None:
    assert (
        memoryseries.make_memory_curve_of_trials(
            [samples.trial()], memoryseries.make_filesystem_memory_series
        )
        == []
    )


def test_the_largest_functions_are_by_their_greatest_peak_of_any_trial() -> None:
    keys = ("peak_of.a", "peak_of.b", "of.c", "peak")
    first = told(0, (0, 1, 1)).model_copy(
        update={"measured": {"memory": dict(zip(keys, (5, 9, 99, 99), strict=True))}}
    )
    second = first.model_copy(update={"measured": {"memory": {"peak_of.a": 20}}})
    assert memoryseries.list_largest_allocating_functions([first, second], 2) == [
        ("a", 20),
        ("b", 9),
    ]
    assert memoryseries.list_largest_allocating_functions([first, second], 1) == [("a", 20)]
