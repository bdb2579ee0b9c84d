# SPDX-License-Identifier: GPL-2.0-or-later
"""Curves: values by hand, points that never mix configurations, gains member by member."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import curvesamples as made

from nandlab.analysis.curves import curvemodels, curvevalues
from nandlab.analysis.curves.curveplaces import CurvePlace
from nandlab.analysis.curves.curves import Curve
from nandlab.analysis.curves.curvevalues import CurvePlot, PlotLine
from nandlab.results.record import Trial


def plot(told: dict[str, Any], trials: list[Trial], **change: object) -> CurvePlot:
    return curvevalues.make_curve_plots([Curve.model_validate({**told, **change})], trials)[0]


def line(found: CurvePlot, title: str) -> PlotLine:
    return next(one for one in found.lines if one.title == title)


def test_a_gain_is_what_the_option_saves_by_hand() -> None:
    found = plot(made.GAIN, made.readers())
    assert len(found.lines) == 4 * 2
    for title, window in (("JFFS2, sequential", 7), ("NFTL+FAT32, random", 1)):
        points = line(found, title).points
        assert [p.x for p in points] == [n / 1280 for n in made.COUNTS]
        wanted = [window / (n + window) for n in made.COUNTS]
        assert [p.y.median for p in points] == pytest.approx(wanted, rel=1e-6)
        assert {p.y.n for p in points} == {3}
    first = line(found, "JFFS2, sequential").points[0]
    of, over = first.parts
    assert (of.median, over.median) == pytest.approx((8.016e6, 15.03e6))
    assert len(first.trials) == 6
    assert found.y.title == "time saved"


def test_a_gain_takes_only_members_that_have_a_partner() -> None:
    trials = [made.reader("ubifs", 0, 1), made.reader("ubifs", 128, 1), made.reader("ubifs", 0, 2)]
    trials.append(made.reader("ubifs", 128, 3).model_copy(update={"status": "trial_failed"}))
    trials += [made.reader("ubifs", 0, 3), made.reader("yaffs2", 128, 2)]
    found = plot(made.GAIN, trials)
    assert {len(p.members) for one in found.lines for p in one.points} == {1}
    assert {one.filesystem for one in found.lines} == {"ubifs"}


def test_a_gain_below_0_is_a_cost() -> None:
    gain = {"by": "option.read_ahead", "of": "128", "over": 0}
    found = plot(made.GAIN, made.readers(), gain=gain)
    assert line(found, "JFFS2, sequential").points[0].y.median == pytest.approx(-7 / 8, rel=1e-6)


@given(st.lists(st.integers(1, 10**9), min_size=4, max_size=4), st.integers(1, 3))
def test_equal_runs_save_nothing_and_medians_lie_within_ranges(ns: list[int], seeds: int) -> None:
    points = [made.point(n, "random", 0, 1.0) for n in made.COUNTS]
    phases = [p.model_copy(update={"ns": n}) for p, n in zip(points, ns, strict=True)]
    trials = [
        made.reader("jffs2", a, s, phases=phases) for a in (0, 128) for s in range(1, 1 + seeds)
    ]
    for p in plot(made.GAIN, trials).lines[0].points:
        assert (p.y.min, p.y.median, p.y.max, p.y.n) == (0, 0, 0, seeds)
    for one in plot(made.READS, made.readers(seeds), y="point.time").lines:
        assert all(p.y.min <= p.y.median <= p.y.max for p in one.points)


def test_configurations_are_never_one_point_and_the_name_says_what_differs() -> None:
    found = plot(made.READS, made.readers(), lines=["filesystem"])
    assert {one.title for one in found.lines} == {
        f"{fs}, read_ahead={n}"
        for fs in ("JFFS2", "UBIFS", "YAFFS2", "NFTL+FAT32")
        for n in (0, 128)
    }
    mixed = [made.reader("jffs2", 0, 1), made.reader("jffs2", 0, 1, chip=made.OTHER_CHIP)]
    titles = [one.title for one in plot(made.READS, mixed, lines=[]).lines]
    assert titles == ["MT29F2G08ABAEAWP", "NAND256W3A"]


def test_what_differs_is_told_by_the_attribute_that_makes_the_fewest_lines() -> None:
    found = plot(made.READS, [made.reader("jffs2", 0)], where={}, lines=[], x="at.share")
    assert [one.title for one in found.lines] == ["sequential", "random"]


def test_several_chips_are_in_one_curve() -> None:
    found = plot(made.GAIN, made.readers())
    parts = {m.place.trial.chip.part for one in found.lines for p in one.points for m in p.members}
    assert parts == {"MT29F2G08ABAEAWP", "NAND256W3A"}


def test_where_takes_one_value_or_several_however_they_are_written() -> None:
    trials = made.readers()
    one = plot(made.READS, trials, where={"option.read_ahead": 0, "filesystem": "ubifs"})
    assert [len(t.points) for t in one.lines] == [4, 4]
    two = plot(made.READS, trials, where={"at.count": [8, 64], "at.pattern": "random"})
    assert two.places == [8.0, 64.0]
    assert plot(made.READS, trials, where={"at.size": 512}).lines == ()


def test_over_a_figure_each_configuration_is_a_point_with_two_ranges() -> None:
    found = plot(made.SCATTER, made.databases())
    assert [len(one.points) for one in found.lines] == [3, 3, 3]
    wal = next(p for p in line(found, "JFFS2").points if p.label == "wal")
    across = wal.x_spread
    assert across is not None
    assert (across.min, across.max) == pytest.approx((361 * 1.01, 361 * 1.03))
    assert wal.y.median == int(2.2e9 / (361 * 1.02))


def test_words_are_places_in_the_order_of_the_plan() -> None:
    found = plot(made.BY_JOURNAL, made.databases())
    assert not found.numeric
    assert found.places == ["delete", "truncate", "wal"]
    assert line(found, "YAFFS2").points[2].y.n == 3


def test_a_figure_of_a_point() -> None:
    trial = made.reader("jffs2", 128, 1)
    phase = trial.phase("sequential_8")
    assert phase is not None
    at = CurvePlace(trial, phase)
    known = {
        n: curvevalues.compute_figure_at_place(f"point.{n}", at)
        for n in ("time", "mean", "reads", "median", "p99")
    }
    assert known == {
        "time": 15_014_999,
        "mean": 15_014_999 / 8,
        "reads": 30,
        "median": 1_876_874,
        "p99": 3_753_748,
    }
    assert curvevalues.compute_figure_at_place("point.per_s", at) == pytest.approx(8 / 0.015015)
    assert curvevalues.compute_figure_at_place("point.bytes_per_s", at) == pytest.approx(
        8 * 4096 / 0.015015
    )
    assert curvevalues.compute_figure_at_place("point.idle", at) is None


def test_the_latency_of_a_kind_that_other_phases_make_too_is_of_no_point() -> None:
    phases = [made.point(n, "random", 0, 1.0) for n in (8, 64)]
    both = [p.model_copy(update={"operations": {"read": 8}}) for p in phases]
    latency = {"read": made.latency(phases[0])}
    trial = made.reader(phases=both, latency_ns=latency)
    assert curvevalues.compute_figure_at_place("point.p99", CurvePlace(trial, both[0])) is None
    alone = made.reader(phases=both[:1], latency_ns=latency)
    assert (
        curvevalues.compute_figure_at_place("point.p99", CurvePlace(alone, both[0]))
        == latency["read"].p99
    )


def test_phases_that_prepare_are_no_points() -> None:
    writing = made.point(8, "sequential", 0, 1.0).model_copy(update={"name": "writing"})
    trial = made.reader(phases=[writing, made.point(64, "random", 0, 1.0)])
    assert plot(made.READS, [trial], where={}).places == [64.0]


def test_a_model_has_lines_of_its_own_that_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def more(y: str, at: CurvePlace) -> float | None:
        return (
            None
            if at.trial.filesystem == "jffs2"
            else 14 + (curvevalues.compute_figure_at_place(y, at) or 0)
        )

    monkeypatch.setitem(curvemodels.CURVE_MODELS, "more", more)
    trials = [t for t in made.readers() if t.filesystem in ("jffs2", "ubifs")]
    found = plot(made.GAIN, trials, y="point.reads", modelled="more", lines=["at.pattern"])
    given = [one for one in found.lines if one.modelled]
    wanted = [f"{p}, UBIFS, modelled: more" for p in made.WINDOW]
    assert [one.title for one in given] == wanted
    assert given[0].points[0].y.median == 1 - (14 + 16) / (14 + 30)


def test_lines_that_a_model_gives_alike_are_one() -> None:
    told = {**made.GAIN, "y": "point.reads", "modelled": "linux-2.6.37", "lines": ["filesystem"]}
    at: dict[str, int | str] = {"file_bytes": 5 << 20, "access": "read", "advice": "none"}
    phases = [made.point(n, "sequential", 0, 1.0, **at) for n in made.COUNTS]
    trials = [made.reader(fs, a, phases=phases) for fs in ("jffs2", "ubifs") for a in (0, 128)]
    (line,) = [one for one in plot(told, trials).lines if one.modelled]
    assert line.title == "modelled: linux-2.6.37"
    gains = [p.y.median for p in line.points]
    assert gains == sorted(gains, reverse=True)
    assert gains[0] > 0.5
